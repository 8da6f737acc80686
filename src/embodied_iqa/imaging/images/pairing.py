"""Images of several cameras that belong to one decision, found by their stamps alone.

Cameras that run freely have stamps of their own. The first camera is the anchor: its stamp is that of the
decision. Each other camera gives its image of the nearest stamp. Which image that is must not depend on when
messages arrive, so that rescoring finds the same ones in the recording: a decision waits until every other
camera has shown an image as new as the anchor's, because no nearer one can follow.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass

from embodied_iqa.base.units import SECOND_NS
from embodied_iqa.imaging.images.frame import View


@dataclass(frozen=True, slots=True)
class Arrived:
    """What is known of the images of a camera.

    Attributes:
        stamps_ns: Of each image of which any part has arrived, oldest first.
        whole_ns: Of those of which every part is there.
    """

    stamps_ns: Sequence[int]
    whole_ns: Collection[int]


def nearest_ns(anchor_ns: int, stamps_ns: Sequence[int], tolerance_ns: int) -> int | None:
    """Return the stamp nearest to the anchor, the newer of two that are as near; None without one in reach.

    Args:
        anchor_ns: Stamp of the first camera's image.
        stamps_ns: Of another camera, oldest first.
        tolerance_ns: How far apart the two may be.
    """
    place = bisect_left(stamps_ns, anchor_ns)
    near_ns = min(
        stamps_ns[max(0, place - 1) : place + 1],
        key=lambda stamp_ns: (abs(stamp_ns - anchor_ns), -stamp_ns),
        default=None,
    )
    return None if near_ns is None or abs(near_ns - anchor_ns) > tolerance_ns else near_ns


def paired_stamps(
    arrived: Mapping[View, Arrived], tolerance_ns: int, from_ns: int = 0
) -> dict[int, dict[View, int]]:
    """Return the stamp of each camera's image by the anchor's stamp, for whole images, oldest first.

    Equal stamps pair at once. An anchor without a pair is left out: its nearest image is further away than
    the tolerance, is not whole, or may still come.

    Args:
        arrived: Of each camera; the first one is the anchor.
        tolerance_ns: How far the stamps of a pair may be apart; 0: equal stamps only.
        from_ns: Begin of the run: an image from before it belongs to no pair with a later one.
    """
    first, *others = arrived
    pairs = {}
    for anchor_ns in arrived[first].stamps_ns:
        if anchor_ns not in arrived[first].whole_ns:
            continue
        found = {first: anchor_ns}
        for view in others:
            stamp_ns = _partner_ns(anchor_ns, arrived[view], tolerance_ns)
            if stamp_ns is not None and (stamp_ns == anchor_ns or stamp_ns >= from_ns):
                found[view] = stamp_ns
        if len(found) == len(arrived):
            pairs[anchor_ns] = found
    return pairs


def _partner_ns(anchor_ns: int, arrived: Arrived, tolerance_ns: int) -> int | None:
    near_ns = nearest_ns(anchor_ns, arrived.stamps_ns, tolerance_ns)
    if near_ns not in arrived.whole_ns:
        return None
    return near_ns if max(arrived.whole_ns) >= anchor_ns else None


def missing_pair(arrived: Mapping[View, Arrived], tolerance_ns: int) -> str:
    """Say which images a policy waits for, where `paired_stamps` finds no pair."""
    silent = [view for view, images in arrived.items() if not images.whole_ns]
    if silent:
        return f"the policy waits for images of {' and '.join(silent)}"
    first, *others = (sorted(images.whole_ns) for images in arrived.values())
    apart_ns = max((min(_apart_ns(first, other)) for other in others), default=0)
    came = f"; the nearest are {apart_ns / SECOND_NS:.3g} s apart" if apart_ns > tolerance_ns else ""
    within = f"at most {tolerance_ns / SECOND_NS:g} s apart (vla_node.policy.pairing_tolerance_s)"
    return f"the policy waits for images of {' and '.join(arrived)} {within}{came}"


def _apart_ns(some_ns: Sequence[int], others_ns: Sequence[int]) -> list[int]:
    return [abs(one_ns - other_ns) for one_ns in some_ns for other_ns in others_ns]
