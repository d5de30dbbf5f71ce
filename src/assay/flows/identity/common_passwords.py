"""Weak passwords: common words with decoration, keyboard rows, few characters, the owner's own name."""

import re

_FEWEST_CHARACTERS = 5
_SHORTEST_NAME = 4
_OUTER = re.compile(r"^[\W\d_]+|[\W\d_]+$")
_BETWEEN = re.compile(r"[\W\d_]+")
_LEET = str.maketrans("013457@$!", "oleastasi")
# The stems of the passwords that lists of leaked ones begin with; digits and marks around them are taken off first.
_COMMON = frozenset(
    """
    aaaaaa abc abcabc abcd abcde abcdef abcdefg abcdefgh abcdefghi abcdefghij abcdefghijk abcdefghijkl access account
    admin administrator adminadmin adobe alexander amanda andrea andrew angel angels animal anthony apple arsenal asdf
    asdfasdf asdfgh asdfghj asdfghjk asdfghjkl ashley asshole austin azerty azertyuiop babygirl badboy bailey banana
    barcelona baseball basketball batman beautiful bella benjamin berlin biteme blahblah blink boomer boston brandon
    broncos buster butterfly calvin carlos changeme changemenow changeit charlie chelsea cheese chicken chocolate
    chris christian christopher computer company cookie corvette cowboys crystal dallas daniel danielle database
    default defaultpassword demo demodemo diamond dragon dragonfly eagles elephant elizabeth emily enter enterprise
    family ferrari flower football forever forgot forgotpassword freedom friends fuckyou fuckoff gateway george ginger
    golden golfer google guest guestguest guitar gandalf hahaha hannah happy harley heather hello helloworld hockey
    home hottie house hunter iceman iloveyou iloveyouforever internet jackson jasmine jennifer jessica jesus john
    jonathan jordan joseph joshua justin killer kitty ladybug legend letmein letmeinnow liverpool login loginlogin
    london lovely loveme lover loverboy madison maggie manager manchester marina marlboro martin master matrix
    matthew maverick melissa mercedes merlin michael michelle mickey midnight minecraft monday money monkey monster
    morgan mother mustang myspace mypassword nascar natasha nicole ninja nintendo nothing oliver orange pass passcode
    passphrase passport passw passwd password passwordpassword patrick peanut pepper phoenix player please pokemon
    porsche princess private purple qazwsx qazwsxedc qwaszx qwer qwert qwertz qwertzuiop qwerty qwertyqwerty
    qwertyuiop qwertyui rabbit rachel rainbow ranger raiders redsox robert rocky root rootroot rush samantha samsung
    sandra scooter scorpion secret secretpassword secure security service shadow shannon silver simple slipknot snoopy
    soccer sophie spiderman spring starwars steelers stella summer sunshine superman superuser support sweet sweety
    system taylor tennis test tester testing testpass testpassword testtest thomas thunder tigger tiger toor trustme
    trustno trustnoone tucker unknown user username vanessa victoria welcome welcomeback welcomehome whatever william
    willow winner winter wizard xbox yamaha yankees yellow zaq zaqwsx zxcv zxcvb zxcvbn zxcvbnm passwort kennwort
    geheim hallo schatz motdepasse soleil bonjour contrasena hola teamo senha wachtwoord haslo parola lozinka assay
    """.split()  # noqa: SIM905 - a list of this length is read as a text
)


def find_weakness(password: str, principal_id: str) -> str | None:
    """Return why a password is easily guessed, in words that say what to do; None where no rule finds it weak."""
    plain = password.casefold()
    if len(set(plain)) < _FEWEST_CHARACTERS:
        return f"expected at least {_FEWEST_CHARACTERS} different characters: choose a phrase of several words"
    stem = _OUTER.sub("", plain)
    is_one_word = len({one for one in _BETWEEN.split(stem) if one}) <= 1
    if (
        not stem
        or _part(stem.translate(_LEET)) in _COMMON
        or (is_one_word and _part(_BETWEEN.split(stem)[0]) in _COMMON)
    ):
        return "expected no common password with digits or marks around it: choose a phrase of several words"
    name = principal_id.rpartition(":")[2].casefold()
    if len(name) >= _SHORTEST_NAME and name in plain:
        return "expected a password without the principal's own name: choose a phrase of several words"
    return None


def _part(text: str) -> str:
    """The part that a text repeats, such as `abc` of `abcabc`; else the text itself."""
    return text[: (text + text).find(text, 1)] if text else text
