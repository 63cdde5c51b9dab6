"""A group whose requests go to its coordinator, which may be another one by the time that it answers."""

from brokertrial.wire import errors


class AskedGroup:
    """A group by its name, and the drawn versions in which its coordinator is asked."""

    def __init__(self, wire, name, rng):
        self.wire, self.name, self.rng = wire, name, rng

    def drawn(self, api, least=0, most=99):
        """A version that is offered."""
        return self.rng.choice([each for each in self.wire.versions(api) if least <= each <= most])

    def ask_coordinator(self, asked, version, **how):
        """Asked again where it is no coordinator, or not yet; all else is the answer."""
        return self.wire.ask(
            asked,
            to=lambda: self.wire.coordinator(self.name),
            version=version,
            retry_on=(errors.COORDINATOR_LOAD_IN_PROGRESS, errors.NOT_COORDINATOR),
            refresh=self.looks_again,
            **how,
        )

    def looks_again(self):
        """The coordinator that was asked is none, or not yet."""
        self.wire.forget_coordinator(self.name)
