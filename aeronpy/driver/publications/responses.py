"""Streams that answer streams (spec: client/driver protocol, section 14; network protocol, 2.16).

A request publication names the subscription that wants the answers; a response publication names the image, or the
IPC publication, that it answers.
"""

from __future__ import annotations

from aeronpy.driver.conductor.refusals import refuse
from aeronpy.driver.publications.publication_params import PublicationParams
from aeronpy.driver.subscriptions.images import Images
from aeronpy.driver.subscriptions.network_subscriptions import NetworkSubscriptions
from aeronpy.protocol import ErrorCode
from aeronpy.uri import NULL_VALUE, PROTOTYPE_CORRELATION_ID, ChannelUri


class Responses:
    """Joins both ends of the network's. Belongs to the decision thread."""

    def __init__(self, subscriptions: NetworkSubscriptions, images: Images) -> None:
        self._subscriptions = subscriptions
        self._images = images

    def check(self, params: PublicationParams, uri: ChannelUri) -> None:
        """Error 11 where a new publication answers, or asks for, what is not there."""
        wanted = params.response_correlation_id
        if params.is_response:
            self._check_answer(params, uri)
        elif wanted != NULL_VALUE and not any(one.registration_id == wanted for one in self._subscriptions):
            raise refuse(
                ErrorCode.GENERIC_ERROR, f"unable to find response subscription for response-correlation-id={wanted}"
            )

    def _check_answer(self, params: PublicationParams, uri: ChannelUri) -> None:
        wanted = params.response_correlation_id
        if wanted == NULL_VALUE:
            raise refuse(
                ErrorCode.GENERIC_ERROR,
                f"control-mode=response was specified, but no response-correlation-id set: {uri}",
            )
        if wanted == PROTOTYPE_CORRELATION_ID:
            return
        image = self._images.get(wanted)
        if image is None:
            raise refuse(ErrorCode.GENERIC_ERROR, f"image.correlationId={wanted} not found")
        if not image.wants_response:
            raise refuse(ErrorCode.GENERIC_ERROR, f"image.correlationId={wanted} did not request a response channel")

    def started(self, params: PublicationParams, session_id: int) -> None:
        """A publication is there: if it answers an image, whoever sends that is told which session to expect."""
        image = self._images.get(params.response_correlation_id) if params.is_response else None
        if image is not None:  # it may have gone while the publication was made
            image.set_response(session_id)
