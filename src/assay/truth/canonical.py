"""The names of Kaori 3.3, bound to its profile `kaori-2.1`: value -> canonical bytes, text, hash."""

from functools import partial

from assay.kernel import canonical as _kernel

canonicalize = partial(_kernel.canonicalize, profile=_kernel.Profile.KAORI)
canonical_json = partial(_kernel.canonical_json, profile=_kernel.Profile.KAORI)
canonical_hash = partial(_kernel.canonical_hash, profile=_kernel.Profile.KAORI)
