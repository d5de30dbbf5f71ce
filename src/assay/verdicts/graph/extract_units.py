"""Units as regulations write them: symbols, words and quotients, each mapped to the spelling that graphs use."""

import re

# The first entry is how the graph writes the unit; words are compared without case, symbols with it.
_WORDS = {
    "%": ("per cent", "percent", "percentage points"),
    "°C": ("degrees celsius", "degree celsius", "degrees c", "degc"),
    "°F": ("degrees fahrenheit", "degrees f"),
    "µg": ("micrograms", "microgram"),
    "mg": ("milligrams", "milligram"),
    "g": ("grams", "gram", "grammes"),
    "kg": ("kilograms", "kilogram", "kilogrammes", "kgs"),
    "t": ("tonnes", "tonne", "metric tons", "tons"),
    "lb": ("pounds", "lbs"),
    "ml": ("millilitres", "millilitre", "milliliters"),
    "l": ("litres", "litre", "liters", "liter"),
    "gal": ("gallons", "gallon"),
    "µm": ("micrometres", "micrometre", "microns"),
    "mm": ("millimetres", "millimetre", "millimeters"),
    "cm": ("centimetres", "centimetre", "centimeters"),
    "m": ("metres", "metre", "meters", "meter"),
    "km": ("kilometres", "kilometre", "kilometers"),
    "in": ("inches", "inch"),
    "ft": ("feet", "foot"),
    "mi": ("miles", "mile"),
    "nm": ("nautical miles", "nautical mile"),
    "m2": ("square metres", "square metre", "square meters"),
    "m3": ("cubic metres", "cubic metre", "cubic meters", "cubic meter"),
    "Nm3": ("normal cubic metres", "normal cubic metre"),
    "kn": ("knots", "knot"),
    "kPa": ("kilopascals", "kilopascal"),
    "MPa": ("megapascals",),
    "Pa": ("pascals", "pascal"),
    "bar": ("bars", "bar"),
    "V": ("volts", "volt"),
    "A": ("amperes", "amps"),
    "W": ("watts", "watt"),
    "kW": ("kilowatts", "kilowatt"),
    "MW": ("megawatts", "megawatt"),
    "kWh": ("kilowatt hours", "kilowatt hour", "kilowatt-hours", "kilowatt-hour"),
    "MWh": ("megawatt hours", "megawatt hour"),
    "MJ": ("megajoules",),
    "Hz": ("hertz",),
    "kN": ("kilonewtons",),
    "lux": ("lux",),
    "dB(A)": ("decibels", "dba", "db(a)"),
    "mSv": ("millisieverts", "millisievert"),
    "rem": ("rems", "rem"),
    "bit": ("bits", "bit"),
    "°": ("degrees",),
    "ppm": ("parts per million", "ppm"),
    "ppb": ("parts per billion", "ppb"),
    "air changes": ("air changes", "air change"),
    "EUR": ("euros", "euro", "eur"),
    "USD": ("us dollars", "dollars", "usd"),
    "GBP": ("pounds sterling", "gbp"),
    "CHF": ("swiss francs", "chf"),
    "us": ("microseconds", "microsecond"),
    "ms": ("milliseconds", "millisecond"),
    "s": ("seconds", "second", "secs", "sec"),
    "min": ("minutes", "minute", "mins"),
    "h": ("consecutive hours", "uninterrupted hours", "hours", "hour", "hrs", "hr"),
    "working day": ("working days", "working day", "business days", "business day"),
    "d": ("calendar days", "calendar day", "consecutive days", "days", "day"),
    "week": ("calendar weeks", "weeks", "week"),
    "month": ("calendar months", "calendar month", "months", "month"),
    "quarter": ("calendar quarter", "quarters", "quarter"),
    "year": ("calendar years", "calendar year", "years", "year"),
}
_SYMBOLS = (
    *("%", "°C", "°F", "µg", "μg", "ug", "ng", "mg", "g", "kg", "t", "lb", "µl", "ml", "mL", "dl", "cl", "l", "L"),
    *("µm", "μm", "nm", "mm", "cm", "dm", "m", "km", "ft", "mm2", "cm2", "m2", "km2", "cm3", "dm3", "m3", "Nm3"),
    *("mm²", "cm²", "m²", "cm³", "m³", "Nm³", "scm", "dscm", "ms", "s", "min", "h", "d", "Pa", "hPa", "kPa"),
    *("MPa", "mbar", "psi", "mV", "V", "kV", "mA", "A", "W", "kW", "MW", "GW", "J", "kJ", "MJ", "GJ", "Wh", "kWh"),
    *("MWh", "GWh", "Hz", "kHz", "MHz", "GHz", "dB", "dB(A)", "dB(C)", "lx", "N", "kN", "Nm", "NTU", "FNU", "ppmv"),
    *("ppbv", "kn", "kt", "cfu", "CFU", "TCID50", "Bq", "kBq", "mSv", "µSv", "Sv", "mol", "mmol", "µmol", "µS", "mS"),
    *("ADt", "rpm", "K", "TEQ", "I-TEQ", "IU", "OU", "GT", "TEU", "px", "MB", "GB", "kB", "bit", "mi", "gal"),
)
_SAME = {"μg": "µg", "ug": "µg", "μm": "µm", "L": "l", "mL": "ml", "m²": "m2", "m³": "m3", "Nm³": "Nm3", "lx": "lux"}
_SAME |= {"mm²": "mm2", "cm²": "cm2", "cm³": "cm3", "CFU": "cfu", "sec": "s", "hr": "h", "kt": "kn"}
_SPELLED = {spelling: unit for unit, spellings in _WORDS.items() for spelling in spellings}


def _alternatives(words: tuple[str, ...]) -> str:
    return "|".join(re.escape(word) for word in sorted(words, key=len, reverse=True))


_WORD = re.compile(rf"(?:{_alternatives(tuple(_SPELLED))})(?![\w/²³])", re.IGNORECASE)
_SYMBOL = re.compile(rf"(?:{_alternatives(_SYMBOLS)})(?![\w²³(])")
# A quotient that the tables do not have is taken as it is written.
_QUOTIENT = re.compile(
    r"(?P<top>[A-Za-zµμ%°][A-Za-z0-9µμ³²()-]{0,9}|)/ ?(?P<below>[A-Za-zµμ][A-Za-z0-9µμ³²]{0,9})(?![\w/])"
)
_PER = re.compile(r"\s+(?:per|a|an|in a|in each|in any|in any one)\s+(?=[A-Za-z])")
_BARE_PER = re.compile(r"per\s+(?=[A-Za-z])")
_BY = re.compile(r"\s*(?:(?P<mass>m/m|w/w|by mass|by weight)|(?P<volume>v/v|by volume))(?!\w)", re.IGNORECASE)
_SPACE = re.compile(r"\s*")
MONEY = {"€": "EUR", "$": "USD", "£": "GBP", "Rs.": "INR", "Rs": "INR"}
MONEY |= {
    code: code for code in ("EUR", "USD", "GBP", "CHF", "SEK", "NOK", "DKK", "JPY", "INR", "AUD", "CAD", "CNY", "BRL")
}
TIMES = frozenset({"s", "min", "h", "d", "working day", "week", "month", "quarter", "year", "us", "ms"})


def match_unit(text: str, start: int) -> tuple[str, int] | None:
    """The unit that stands at a place of a text, and where it ends; None where none is known."""
    space = _SPACE.match(text, start)
    begin = start if space is None else space.end()
    found = _single(text, begin)
    quotient = _QUOTIENT.match(text, begin)
    if quotient is not None and (found is None or quotient.end() > found[1]):
        top, below = (_SAME.get(part, _SPELLED.get(part.lower(), part)) for part in quotient.groups())
        return f"{top}/{below}", quotient.end()
    if found is None:
        bare = _BARE_PER.match(text, begin)
        below_unit = None if bare is None else _single(text, bare.end())
        return None if below_unit is None else (f"/{below_unit[0]}", below_unit[1])
    if found[0] == "%":
        kind = _BY.match(text, found[1])
        return found if kind is None else ("% m/m" if kind["mass"] else "% v/v", kind.end())
    return _per(text, *found)


def _per(text: str, unit: str, end: int) -> tuple[str, int]:
    """`milligrams per litre`; a time by itself has no denominator: `20 hours in each day` are 20 hours."""
    per = None if unit in TIMES else _PER.match(text, end)
    below = None if per is None else _single(text, per.end())
    if per is None or below is None or (per.group().strip() != "per" and below[0] not in TIMES):
        return unit, end
    return f"{unit}/{below[0]}", below[1]


def _single(text: str, start: int) -> tuple[str, int] | None:
    symbol, word = _SYMBOL.match(text, start), _WORD.match(text, start)
    if symbol is not None and (word is None or symbol.end() >= word.end()):
        return _SAME.get(symbol.group(), symbol.group()), symbol.end()
    return None if word is None else (_SPELLED[word.group().lower()], word.end())
