"""A panel behind one language model: the draws of a case go to its members in turn, one draw to each.

Whoever asks sees one model with as many samples as there are members. Each member is asked through a channel of its
own, with its own address, price, pace and terms, and gets the very request that it would get alone.
"""

import logging
from collections.abc import Sequence
from dataclasses import replace
from typing import Any, Final, NamedTuple, NoReturn

from dspy import LMError
from dspy.lm15 import Request, Response

from ..errors import ModelError
from .channel import Channel
from .conversion import config_with
from .draws import current_draw
from .failures import FATAL, Breaker, brief, kind_of

_SETTINGS: Final = ("temperature", "top_p", "max_tokens")
"""The settings of a request that a member has of its own, where the request names none."""
_log = logging.getLogger("jurist")


class Seat(NamedTuple):
    """A member in its channel."""

    member: str  # the model's name
    name: str  # the model's name in requests
    channel: Channel
    settings: dict[str, Any]  # of its requests


class PanelChannel(Channel):
    """The channel of a panel, which hands each request to the channel of the member whose draw it is."""

    def __init__(self, seats: Sequence[Seat]) -> None:
        first = seats[0].channel
        super().__init__(first.inner, first.context, first.purpose, first.pace)
        self.seats = tuple(seats)
        self._breakers: list[Breaker] = []
        for _ in seats:
            self._breakers.append(Breaker())
        # place of a member -> the failure after which it is not asked again
        self._given_up: dict[int, LMError] = {}

    @property
    def members(self) -> tuple[str, ...]:
        """The names of the models, in the order of a row's samples."""
        return tuple(seat.member for seat in self.seats)

    def complete(self, request: Request) -> Response:
        """Answer a request by the member whose draw it is."""
        place = self._place()
        try:
            response = self.seats[place].channel.complete(self._as_member(place, request))
        except LMError as error:
            self._note_failure(place, error)
        self._breakers[place].note("", "")
        return response

    async def acomplete(self, request: Request) -> Response:
        """Answer a request by the member whose draw it is, inside a running event loop."""
        place = self._place()
        try:
            response = await self.seats[place].channel.acomplete(self._as_member(place, request))
        except LMError as error:
            self._note_failure(place, error)
        self._breakers[place].note("", "")
        return response

    def _place(self) -> int:
        """Return the place of the member whose draw is asked for. Raises its failure if it is not asked any more."""
        place = (current_draw.get().sample or 0) % len(self.seats)
        if place in self._given_up:
            raise self._given_up[place]
        return place

    def _as_member(self, place: int, request: Request) -> Request:
        """Return a request as the member would be asked alone: by its name, and with its number of the draw."""
        seat, config = self.seats[place], request.config
        changes = {}
        for name in _SETTINGS:
            if getattr(config, name) is None and seat.settings.get(name) is not None:
                changes[name] = seat.settings[name]
        if changes:
            config = replace(config, **changes)
        sample = current_draw.get().sample
        if config.seed is None and sample is not None:
            config = config_with(config, sample // len(self.seats), config.logprobs)
        return replace(request, model=seat.name, config=config)

    def _note_failure(self, place: int, error: LMError) -> NoReturn:
        """Give a member up whose endpoint fails again and again, and raise the failure: the others go on."""
        kind = kind_of(error)
        is_given_up = kind in FATAL
        try:
            self._breakers[place].note(str(kind), brief(error))
        except ModelError:
            is_given_up = True
        if is_given_up and place not in self._given_up:
            self._given_up[place] = error
            member = self.seats[place].member
            _log.warning("%s of the panel is not asked any more: %s", member, brief(error, 200))
        raise error
