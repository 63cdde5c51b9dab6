"""The settings of clients that decide what may be demanded, where a file does not tell them."""

import msgspec


class BadSetting(ValueError):
    """A setting that does not exist, or cannot have that value; the message is one sentence."""


class Settings(msgspec.Struct, frozen=True, kw_only=True):
    """What is assumed: Jepsen's own defaults unless said otherwise. `subscribe` None: as the file shows."""

    acks: int = -1
    isolation: str = "read_committed"
    idempotence: bool = True
    subscribe: bool | None = None
    ww_edges: bool = True

    @classmethod
    def of(cls, text: str) -> "Settings":
        """Reads `acks=1,isolation=read_uncommitted,idempotence=off,subscribe=on,ww=off`; raises BadSetting."""
        return msgspec.convert({_NAMES.get(name, name): value for name, value in assumptions(text).items()}, cls)


_NAMES = {"ww": "ww_edges"}
_SWITCH = {"true": True, "on": True, "yes": True, "1": True, "false": False, "off": False, "no": False, "0": False}
_CHOICES: dict[str, dict[str, int | str | bool]] = {
    "acks": {"all": -1, "-1": -1, "1": 1, "0": 0},
    "isolation": {"read_committed": "read_committed", "read_uncommitted": "read_uncommitted"},
    "idempotence": dict(_SWITCH),
    "subscribe": dict(_SWITCH),
    "ww": dict(_SWITCH),
}


def assumptions(text: str) -> dict[str, int | str | bool]:
    """The settings that a text states, by their short names; raises BadSetting."""
    stated: dict[str, int | str | bool] = {}
    for part in filter(None, (part.strip() for part in text.split(","))):
        name, equals, value = part.partition("=")
        choices = _CHOICES.get(name.strip())
        if choices is None or not equals:
            raise BadSetting(f"{part!r} cannot be assumed: what can is {'=..., '.join(_CHOICES)}=... .")
        if value.strip().lower() not in choices:
            raise BadSetting(f"{part!r} cannot be assumed: {name} must be one of {', '.join(choices)}.")
        stated[name.strip()] = choices[value.strip().lower()]
    return stated
