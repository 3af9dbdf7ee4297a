"""Networks that pgmpy ships, by name; their files stay in the peers' folder."""

from __future__ import annotations

from bench.peer import Peers
from lacunet.models.formats import read_network
from lacunet.models.network import Model


def shipped_network(peers: Peers, name: str) -> Model | str:
    """Give a network, or say why it is not to be had."""
    path = peers.folder / f"{name}.bif"
    if not path.exists():
        answer = peers.shipped(name)
        if "skipped" in answer:
            return str(answer["skipped"])
        path.write_text(answer["bif"], encoding="utf-8")
    return read_network(path)
