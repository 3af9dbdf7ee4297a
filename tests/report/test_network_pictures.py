"""Pictures of networks: every variable and edge once, nothing on top of anything else."""

import math
from itertools import combinations
from xml.etree import ElementTree as ET

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from report_cases import EVIL

from examples import examples
from lacunet.errors import OptionError
from lacunet.models.conjugacy import random_theta
from lacunet.models.latent_class import latent_class
from lacunet.models.network import Model, Network, Variable
from lacunet.plots.graph_layout import draw
from lacunet.plots.graph_layout.drawing import BESIDE, LINES, box_size, name_lines, text_width
from lacunet.plots.graph_layout.layout import ROOM
from lacunet.plots.style import edge_style
from lacunet.report.page.network_page import LARGEST, picture

ODD = [
    EVIL,
    "a&b",
    "Größe",
    "はい、そうです",
    "much too long, " * 8,
    "tab\tline\nbreak",
    "",
    "🙂",
    "W" * 70,
]
BORDER = 1.5  # pixels that an arrow may miss the border by


def star(leaves, names=None):
    names = names or [f"item{i}" for i in range(leaves)]
    return latent_class([(name, ("no", "yes")) for name in names], 3)


def random_network(size, edges, seed=0):
    rng = np.random.default_rng(seed)
    parents = [set() for _ in range(size)]
    for _ in range(edges):
        a, b = sorted(rng.choice(size, 2, replace=False).tolist())
        parents[b].add(a)
    variables = [Variable(f"variable {i}", ("a", "b"), hidden=i % 5 == 0) for i in range(size)]
    return Network.build(variables, [sorted(p)[:4] for p in parents])


def hidden_chain(length):
    variables = [Variable(f"Z{i}", (1, 2), hidden=True) for i in range(length)]
    variables += [Variable(f"x{i}", ("a", "b")) for i in range(length)]
    above = [(), *((i - 1,) for i in range(1, length))]
    return Network.build(variables, [*above, *((i,) for i in range(length))])


def latent_tree():
    variables = [Variable(f"h{i}", (1, 2), hidden=True) for i in range(4)]
    variables += [Variable(f"question {i}", ("no", "yes")) for i in range(36)]
    return Network.build(variables, [(), (0,), (0,), (0,), *((1 + i % 3,) for i in range(36))])


NETWORKS = {
    "one": Network.build([Variable("a", ("x", "y"))], [()]),
    "two": Network.build([Variable("a", ("x", "y")), Variable("b", ("x", "y"))], [(), (0,)]),
    "star of 10": star(10),
    "star of 64": star(64),
    "odd names": star(len(ODD), ODD),
    "chain": hidden_chain(12),
    "tree": latent_tree(),
    "no edges": random_network(30, 0),
    "causes": Network.build(
        [Variable(f"cause number {i}", ("n", "y")) for i in range(13)], [*[()] * 12, range(12)]
    ),
    "dense": random_network(37, 60, seed=1),
    "large": random_network(76, 110, seed=2),
    "some loose": random_network(40, 12, seed=3),
}


@pytest.fixture(params=NETWORKS, scope="module")
def network(request):
    return NETWORKS[request.param]


def check(network, drawing):
    edges = [(p, i) for i, pa in enumerate(network.parents) for p in pa]
    boxes = {b.variable: b for b in drawing.boxes}
    assert sorted(boxes) == list(range(len(network.variables)))
    assert [b.y for b in drawing.boxes] == sorted(b.y for b in drawing.boxes)
    assert [(a.parent, a.child) for a in drawing.arrows] == edges
    for b in drawing.boxes:
        assert -1 <= b.left <= drawing.width + 1 - b.width
        assert -1 <= b.top <= drawing.height + 1 - b.height
    for a, b in combinations(drawing.boxes, 2):
        beside = abs(a.x - b.x) >= (a.width + b.width) / 2
        assert beside or abs(a.y - b.y) >= (a.height + b.height) / 2, (a, b)
    for arrow in drawing.arrows:
        assert len(arrow.curve) % 3 == 1
        assert distance_to_border(boxes[arrow.child], arrow.tip) < BORDER
        head = math.dist(arrow.tip, arrow.curve[-1])
        assert 4 < head < 12


def distance_to_border(box, point):
    """How far a point is from the border of a box, inside or outside."""
    dx = abs(point[0] - box.x) - box.width / 2
    dy = abs(point[1] - box.y) - box.height / 2
    return -max(dx, dy) if dx <= 0 and dy <= 0 else math.hypot(max(dx, 0), max(dy, 0))


def test_nothing_is_missing_and_nothing_overlaps(network):
    check(network, draw(network))


@examples(15)
@given(st.integers(2, 14), st.integers(0, 24), st.integers(0, 99), st.sampled_from([150.0, ROOM]))
def test_random_networks_in_any_room(size, edges, seed, room):
    network = random_network(size, edges, seed)
    check(network, draw(network, room=room))


def test_the_same_again(network):
    assert draw(network) == draw(network)


@pytest.mark.parametrize("name", ["star of 10", "star of 64", "odd names", "tree", "no edges"])
def test_leaves_fit_into_the_report(name):
    assert draw(NETWORKS[name]).width <= ROOM


def test_arrows_of_a_fan_begin_at_its_trunk():
    drawing = draw(NETWORKS["star of 64"])
    stem, across, *downs = drawing.trunks
    assert distance_to_border(drawing.boxes[0], stem[0]) < BORDER
    assert stem[-1][1] == pytest.approx(across[0][1])
    for arrow in drawing.arrows:
        x, y = arrow.curve[0]
        assert any(d[0][0] == x and d[0][1] <= y <= d[-1][1] for d in downs)


def test_names_fit_into_their_boxes():
    for name in [*ODD, "x" * 200, "one two three four five six seven eight nine ten eleven"]:
        lines = name_lines(name)
        width, _ = box_size(lines)
        assert 1 <= len(lines) <= LINES
        assert all(line and text_width(line) + 2 * BESIDE <= width + 1e-9 for line in lines)


def model_of(network):
    theta = random_theta(network.layout, np.random.default_rng(1))
    return Model(network, theta, np.ones(network.layout.size))


def parsed(shown):
    return ET.fromstring(shown.svg)  # well-formed, or an error


def style(element):
    """The properties of a shape."""
    return dict(each.split(": ") for each in element.get("style").split("; "))


def by_class(root, name):
    return [e for e in root.iter() if name in e.get("class", "").split()]


def test_every_variable_and_edge_is_in_the_svg(network):
    root = parsed(picture(model_of(network)))
    nodes = by_class(root, "node")
    assert len(nodes) == len(network.variables)
    for v in network.variables:
        (node,) = (n for n in nodes if n.get("aria-label").startswith(f"{v.name}: "))
        assert node.get("tabindex") == "0"
        assert ("hidden" in node.get("class").split()) == v.hidden
        assert node.get("data-tip").startswith(f"p({v.name}")
    names = [v.name for v in network.variables]
    edges = {f"{names[p]} → {names[i]}" for i, pa in enumerate(network.parents) for p in pa}
    assert {e.get("data-tip") for e in by_class(root, "edge")} == edges


def test_names_are_escaped():
    svg = picture(model_of(NETWORKS["odd names"])).svg
    assert "<script" not in svg
    assert "a&amp;b" in svg


def test_a_box_shows_its_table():
    network = Network.build([Variable("a", ("x", "y")), Variable("b", tuple(range(9)))], [(), (0,)])
    model = model_of(network)
    tips = [node.get("data-tip") for node in by_class(parsed(picture(model)), "node")]
    assert tips[0].split("\n")[0] == "p(a)"
    head, states, first, second = tips[1].split("\n")
    assert head == "p(b | a)"
    assert states.split("\t") == ["", "0", "1", "2", "3", "4", "5", "…"]
    assert first.split("\t")[:2] == ["x", f"{model.table('b')[0, 0]:.3f}"]
    assert second.startswith("y\t")


def test_long_tables_are_cut():
    parents = [Variable(f"p{i}", tuple("abcd")) for i in range(3)]
    network = Network.build([*parents, Variable("b", ("x", "y"))], [(), (), (), (0, 1, 2)])
    tip = by_class(parsed(picture(model_of(network))), "node")[-1].get("data-tip")
    assert tip.endswith("… 52 more rows")


def test_certain_edges_are_broader_and_darker():
    network = NETWORKS["star of 64"]
    chances = {("class", f"item{i}"): i / 100 for i in range(64)}
    shown = picture(model_of(network), chances)
    assert shown.certain
    edges = by_class(parsed(shown), "edge")
    lines = [style(e.find("path")) for e in edges]
    widths = [float(line["stroke-width"]) for line in lines]
    opacities = [float(line["opacity"]) for line in lines]
    assert widths == sorted(widths)
    assert len(set(widths)) > 40
    assert opacities == sorted(opacities)
    assert edges[25].get("data-tip") == "class → item25\nprobability\t0.250"
    assert edge_style(None) == edge_style(1.0)


def test_edges_that_may_point_the_other_way_have_open_heads():
    network = Network.build([Variable(n, ("x", "y")) for n in "abc"], [(), (0,), (0, 1)])
    shown = picture(model_of(network), compelled=[("a", "c")])
    heads = [style(e.find("g/path"))["fill"] for e in by_class(parsed(shown), "edge")]
    assert heads == ["var(--card)", "var(--soft)", "var(--card)"]
    assert shown.turning
    assert not picture(model_of(network)).turning


@pytest.mark.parametrize(
    ("certainty", "text"),
    [({("a", "other"): 0.5}, "no variable is 'other'"), ({("a", "b"): 1.5}, "is 1.5")],
)
def test_certainties_that_are_none(certainty, text):
    with pytest.raises(OptionError, match=text):
        draw(NETWORKS["two"], certainty)


def test_what_is_too_large_is_not_drawn():
    parents = [range(max(0, i - 4), i) for i in range(200)]
    dense = Network.build([Variable(f"v{i}", ("a",)) for i in range(200)], parents)
    for network in (random_network(LARGEST + 1, 0), dense):
        shown = picture(model_of(network))
        assert not shown.svg
        assert "too many" in shown.words


def samples(curve):
    """Points of a curve of Bézier pieces."""
    for k in range(0, len(curve) - 1, 3):
        piece = np.array(curve[k : k + 4])
        for t in np.linspace(0, 1, 13):
            weights = np.array([(1 - t) ** 3, 3 * t * (1 - t) ** 2, 3 * t * t * (1 - t), t**3])
            yield weights @ piece


def runs_through(drawing):
    """Pairs of an arrow and a box that is in its way."""
    inside = 1.0  # pixels
    for arrow in drawing.arrows:
        points = np.array(list(samples(arrow.curve)))
        for box in drawing.boxes:
            if box.variable not in (arrow.parent, arrow.child):
                reach = box.width / 2 - inside, box.height / 2 - inside
                if np.any(np.all(np.abs(points - (box.x, box.y)) < reach, axis=1)):
                    yield arrow.parent, arrow.child, box.variable


def test_no_arrow_runs_through_a_box(network):
    assert not list(runs_through(draw(network)))


def chords_that_cross(drawing):
    at = {box.variable: np.array([box.x, box.y]) for box in drawing.boxes}

    def side(a, b, c):
        (x, y), (u, v) = at[b] - at[a], at[c] - at[a]
        return np.sign(x * v - y * u)

    for one, two in combinations([(a.parent, a.child) for a in drawing.arrows], 2):
        if not {*one} & {*two}:
            apart = side(*one, two[0]) * side(*one, two[1]) < 0
            if apart and side(*two, one[0]) * side(*two, one[1]) < 0:
                yield one, two


@pytest.mark.parametrize("name", ["chain", "tree", "star of 10", "causes", "grid"])
def test_what_can_be_drawn_without_crossings_is(name):
    grid = Network.build(
        [Variable(f"v{i}", ("a", "b")) for i in range(12)],
        [[p for p in (i - 4, i - 1 if i % 4 else -1) if p >= 0] for i in range(12)],
    )
    assert not list(chords_that_cross(draw(grid if name == "grid" else NETWORKS[name])))


def test_long_edges_lead_around_boxes_and_straight():
    edges = [(), (0,), (1,), (2,), (0, 3)]
    network = Network.build([Variable(f"v{i}", ("a", "b")) for i in range(5)], edges)
    drawing = draw(network)
    assert not list(runs_through(drawing))
    (long,) = (a for a in drawing.arrows if (a.parent, a.child) == (0, 4))
    middle = np.array([p for p in samples(long.curve) if 60 < p[1] < drawing.height - 60])
    assert np.ptp(middle[:, 0]) < 2


def test_symmetric_networks_have_symmetric_pictures():
    boxes = {b.variable: b for b in draw(star(6)).boxes}
    middle = boxes[0].x
    leaves = sorted(boxes[i].x - middle for i in range(1, 7))
    assert leaves == pytest.approx([-x for x in reversed(leaves)], abs=1.0)


def test_separate_parts_stand_in_rows_of_the_room():
    drawing = draw(NETWORKS["some loose"])
    assert drawing.width <= ROOM
    assert drawing.height < ROOM
