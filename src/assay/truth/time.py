"""The names of Kaori 4.4: truncate an event's own time to its bucket, and write the bucket."""

from assay.kernel import instant as _instant
from assay.truth import bucket as _bucket

NaiveDatetimeError = _instant.NaiveDatetimeError
bucket_datetime = _bucket.bucket_datetime
format_bucket = _bucket.format_bucket
