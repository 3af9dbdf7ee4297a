"""Mistakes: exit code 2, one clear message on stderr, nothing on stdout, nothing written."""

import json

import pytest

WEIGHTED = ("--weights", "count")

FILES = [
    ("", "is empty. The first line must name the columns."),
    ("a,b\n", "has columns but no rows. Add at least one row."),
    ("a,b,c\n0,1,1\n1,0\n", "d.csv, row 2 (line 3): 2 cells, but the header has 3 columns. Fill"),
    ("a,b,a\n0,1,1\n", "two columns are named 'a' (columns 1 and 3). Rename one"),
    ("a,b\n0,\n1,\n", "column 'b' has no observed value: every cell is missing. Exclude it with "),
    (
        "id,b\n1,1\n2,0\n3,1\n4,0\n",
        "so it looks like an identifier. Exclude it with --exclude id.",
    ),
]

WEIGHTS = [
    ("-1", "weight column 'w', row 2 (line 3): -1 is negative. A weight must be a number"),
    ("", "weight column 'w', row 2 (line 3): the weight is missing."),
    ("two", "weight column 'w', row 2 (line 3): 'two' is not a number."),
    ("inf", "weight column 'w', row 2 (line 3): inf is infinite."),
]

OPTIONS = [
    (("--states", "0"), "--classes '0': there must be at least 1."),
    (("--states", "-2"), "--classes '-2': there must be at least 1."),
    (("--states", "5:2"), "--classes '5:2' runs backwards, so it is empty. Did you mean 2:5?"),
    (("--states", "abc"), "--classes 'abc' is not understood. Give 4, 1:8, 2:10:2 or 2,4,8."),
    (("--states", "1:8:0"), "--classes '1:8:0' is not understood. Give FIRST:LAST or FIRST:LAST:"),
    (("--alpha", "0"), "alpha 0 is not allowed: Dirichlet exponents must be above 0. The usual"),
    (("--alpha", "-1"), "alpha -1 is not allowed"),
    (("--alpha", "nan"), "alpha nan is not allowed"),
    (("--alpha", "inf"), "alpha inf is not allowed"),
    (
        ("--alpha", "much"),
        "alpha 'much' is not understood. Give a number above 0, k2, bdeu:SIZE",
    ),
    (("--scores", "lapalce"), "'lapalce' is not a score. Did you mean 'laplace'? Choose from lap"),
    (("--scores", "cs,aic"), "'aic' is not a score."),
    (("--scores", "bd"), "bd is exact, so defined only where nothing is hidden; name another"),
    (("--dimension", "both"), "dimension 'both' is not known. Choose from parameters, rank."),
    (("--threads", "0"), "0 threads: there must be at least 1."),
    (("--starts", "0"), "0 starts: there must be at least 1."),
    (("--seed", "-1"), "seed -1 is not allowed: give a whole number from 0 up."),
    (("--estimate", "best"), "Invalid value for '--estimate'"),
    (("--schedule", "slow"), "Invalid value for '--schedule'"),
    (("--prior", "1,2"), "--prior has 2 weights for 8 numbers of states. Give one for each."),
    (("--prior", "a,b"), "--prior 'a,b' is not a list of numbers with commas between."),
    (
        ("--states", "1,2", "--prior", "1,nan"),
        "the prior of 2 states is nan. Weights must be 0 or more.",
    ),
    (("--states", "1,2", "--prior", "0,0"), "the prior gives every candidate weight 0."),
    (("--columns", "A,Z"), "--columns: there is no column 'Z' in"),
    (("--exclude", "counts"), "--exclude: there is no column 'counts' in"),
    (("--columns", "A,count"), "column 'count' cannot be both the weight and a variable."),
    (("--bogus",), "No such option"),
]


@pytest.fixture
def refused(invoke, tmp_path):
    """Run a command that must be refused; give what it said."""

    def run(*arguments) -> str:
        before = {p: p.read_bytes() for p in tmp_path.rglob("*") if p.is_file()}
        ran = invoke(*arguments)
        assert (ran.code, ran.out) == (2, "")
        assert {p: p.read_bytes() for p in tmp_path.rglob("*") if p.is_file()} == before
        return ran.err

    return run


@pytest.mark.parametrize(("content", "text"), FILES)
def test_tables_that_cannot_be_used(refused, tmp_path, content, text):
    (tmp_path / "d.csv").write_text(content)
    message = refused("select", "d.csv", "--save", "out")
    assert text in message
    assert message.startswith("error: ")
    assert message.count("\n") == 1
    assert not (tmp_path / "out").exists()
    assert refused("fit", "d.csv", "--states", 2, "--save", "m.json") == message


@pytest.mark.parametrize(("weight", "text"), WEIGHTS)
def test_weights_that_cannot_be_used(refused, tmp_path, weight, text):
    (tmp_path / "d.csv").write_text(f"a,b,w\n0,1,1\n1,0,{weight}\n1,1,2\n")
    assert text in refused("select", "d.csv", "--weights", "w")


def test_weights_that_are_all_zero_or_absent(refused, tmp_path):
    (tmp_path / "d.csv").write_text("a,b,w\n0,1,0\n1,0,0\n1,1,0\n")
    text = "weight column 'w' is zero in every row. Choose another column with --weights."
    assert text in refused("select", "d.csv", "--weights", "w")
    assert "--weights: there is no column 'ww' in d.csv. Did you mean 'w'?" in refused(
        "select", "d.csv", "--weights", "ww"
    )
    assert "--weights: there is no column ''" in refused("select", "d.csv", "--weights", "")


@pytest.mark.parametrize(("options", "text"), OPTIONS)
def test_options_out_of_range(refused, carcinoma, tmp_path, options, text):
    message = refused("select", carcinoma, *WEIGHTED, *options, "--save", "out")
    assert text in " ".join(message.replace("│", " ").split())
    assert "Traceback" not in message
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize(
    ("options", "text"),
    [(o, t) for o, t in OPTIONS if o[0] in {"--alpha", "--threads", "--starts", "--seed"}],
)
def test_the_same_options_of_fit(refused, carcinoma, options, text):
    message = refused("fit", carcinoma, *WEIGHTED, "--states", 2, *options, "--save", "m.json")
    assert text in " ".join(message.replace("│", " ").split())


def test_no_states_for_fit(refused, carcinoma):
    assert "--classes 0: there must be at least 1." in refused("fit", carcinoma, "--states", 0)


def test_small_alpha_is_fine_for_the_maximum_likelihood(invoke, carcinoma):
    options = ("--states", 2, "--alpha", 0.5, "--estimate", "ml", "--starts", 4)
    assert invoke("fit", carcinoma, *WEIGHTED, *options).code == 0


def change(path, *keys, to):
    document = json.loads(path.read_text())
    place = document
    for key in keys[:-1]:
        place = place[key]
    if to is None:
        del place[keys[-1]]
    else:
        place[keys[-1]] = to
    path.write_text(json.dumps(document))


HALF = [0.5, 0.5]
MODELS = [
    (("families", 1, "table"), [[0.9, 0.2], HALF], "family 'A': its table sums to 1.1 at parent s"),
    (("families", 0, "table"), [0.2, 0.2], "family 'class': its table sums to 0.4. Each distrib"),
    (("families", 1, "table"), [[-0.5, 1.5], HALF], "family 'A': its table is negative at [0, 0]"),
    (("families", 1, "table"), [[float("nan"), 1], HALF], "family 'A': its table is not a finite"),
    (("families", 1, "table"), [["0.5", "0.5"], HALF], "family 'A': its table is not a nested li"),
    (("families", 1, "table"), [[True, False], HALF], "family 'A': its table is not a nested list"),
    (("families", 1, "table"), [[10**400, 0], HALF], "family 'A': its table is not a nested list"),
    (("families", 1, "table"), [[1.0], HALF], "family 'A': its table is not a nested list of numb"),
    (("families", 1, "table"), HALF, "family 'A': its table has shape (2,), but its parents and"),
    (("families", 1, "parents"), ["A"], "the parents form a cycle: 'A' → 'A'. Remove one of these"),
    (("families", 1, "parents"), ["klass"], "family 'A': its parent 'klass' is not a variable of"),
    (("families", 1, "parents"), [["class"]], "family 'A': ['class'] is not the name of a va"),
    (("families", 1, "child"), "Z", "family 'Z': no variable has this name. The variables are "),
    (("families", 1, "child"), ["A"], "family '['A']': ['A'] is not the name of a variable."),
    (("families", 1, "child"), "B", "family 'B' occurs twice. Each variable has one family."),
    (("families", 7), None, "variable 'G' has no family. Add its table."),
    (("families", 1, "alpha"), 0, "family 'A': every alpha must be a number above 0."),
    (("families", 1, "alpha"), HALF, "family 'A': its alpha has shape (2,). Give one number, or ("),
    (("variables", 2, "name"), "A", "variable 'A' occurs twice. Names must differ."),
    (("variables", 2, "states"), [0, 0], "variable 'B' has a state twice. States must differ."),
    (("variables", 2, "states"), [float("inf"), 0], "variable 'B': states must be texts, numbers"),
    (
        ("variables", 0, "hidden"),
        "yes",
        "variable 'class': \"hidden\" is 'yes'. It must be true or",
    ),
    (("format",), "lacunet-model/9", 'this is not a model file: it has no "format": "lacunet-mod'),
]


@pytest.mark.parametrize(("keys", "value", "text"), MODELS)
def test_model_files_with_mistakes(refused, carcinoma, model, keys, value, text):
    change(model, *keys, to=value)
    message = refused("score", carcinoma, "--model", model)
    assert f"error: {model}: {text}" in message
    assert refused("assign", carcinoma, "--model", model, "-o", "out.csv") == message
    assert refused("simulate", "--model", model, "--rows", 5, "-o", "out.csv") == message


def test_cycles_between_variables(refused, carcinoma, model):
    change(model, "families", 0, "parents", to=["A"])
    change(model, "families", 0, "table", to=[HALF, HALF])
    assert "the parents form a cycle: 'class' → 'A' → 'class'." in refused(
        "score", carcinoma, "--model", model
    )


def test_files_that_are_no_models(refused, carcinoma, model, tmp_path):
    whole = model.read_text()

    def said(content: str | bytes) -> str:
        model.write_bytes(content if isinstance(content, bytes) else content.encode())
        return refused("score", carcinoma, "--model", model)

    assert "this is not valid JSON" in said(whole[: len(whole) // 2])
    assert "the file is empty" in said("")
    assert "cannot be read as JSON" in said("[" * 100_000)
    assert "cannot be read as JSON" in said("1" * 10_000)
    assert "this is not UTF-8 text (byte 0)" in said(b"\xff\xfe\x00")
    assert 'it has no "format"' in said("[1, 2]")
    assert "nil.json: No such file or directory. Give the path of a network file" in refused(
        "score", carcinoma, "--model", "nil.json"
    )
    assert "Is a directory" in refused("score", carcinoma, "--model", tmp_path)


def test_a_model_with_a_byte_order_mark_is_read(invoke, carcinoma, model):
    model.write_bytes(b"\xef\xbb\xbf" + model.read_bytes())
    assert invoke("score", carcinoma, "--model", model, "--scores", "bic").code == 0


def test_data_that_do_not_fit_the_model(refused, model, tmp_path):
    (tmp_path / "d.csv").write_text("A,B,C,D,E,F,G\n0,1,0,1,0,1,2\n")
    text = (
        "error: column 'G', row 1 (line 2): '2' is not one of its 2 states 0, 1. Declare it with "
        "--missing 2, or add it to the states.\n"
    )
    assert refused("score", "d.csv", "--model", model) == text
    assert refused("assign", "d.csv", "--model", model, "-o", "out.csv") == text
    (tmp_path / "d.csv").write_text("A,B,C,D,E,F,g\n0,1,0,1,0,1,0\n")
    text = (
        "the data have no column 'G', which the network has. Their columns are 'A', 'B', 'C', 'D', "
        "'E', 'F', 'g'. Add it (empty cells are fine), or declare it hidden"
    )
    assert text in refused("score", "d.csv", "--model", model)
    (tmp_path / "d.csv").write_text("a,b\n0,1\n")
    text = "the table shows no variable of the model. Its columns are 'a', 'b'; the model has 'A',"
    assert text in refused("assign", "d.csv", "--model", model, "-o", "out.csv")


@pytest.mark.parametrize(
    ("options", "text"),
    [
        (("--scores", "bd"), "bd is exact, so defined only where nothing is hidden"),
        (("--scores", "nil"), "'nil' is not a score."),
        (("--dimension", "d"), "dimension 'd' is not known."),
        (("--threads", "0"), "0 threads"),
        (("--weights", "G"), "column 'G' cannot be both the weight and a variable."),
    ],
)
def test_options_of_score(refused, carcinoma, model, options, text):
    assert text in refused("score", carcinoma, "--model", model, *options)


@pytest.mark.parametrize(
    ("options", "text"),
    [
        (("--rows", 0), "0 rows: there must be at least 1."),
        (("--rows", 9, "--seed", -1), "seed -1 is not allowed"),
        (("--rows", 9, "--missing-rate", 1), "a missing rate of 1 is not allowed: give 0 ≤ p < 1."),
        (("--rows", 9, "--missing-rate", "nan"), "a missing rate of nan is not allowed"),
        (("--rows", 10**13), "not enough memory."),
    ],
)
def test_options_of_simulate(refused, model, options, text):
    assert text in refused("simulate", "--model", model, *options, "-o", "out.csv")


@pytest.mark.parametrize(
    ("options", "text"),
    [
        ((0, 3), "0 hidden states: there must be at least 1."),
        ((2, 0), "0 leaves: there must be at least 1."),
        ((2, 3, "--leaf-states", 1), "1 states of each leaf: there must be at least 2."),
        ((2, 3, "--alpha", 0), "alpha 0 is not allowed"),
        ((2, 3, "--seed", -1), "seed -1 is not allowed"),
    ],
)
def test_options_of_random(refused, options, text):
    classes, leaves, *more = options
    arguments = ("random", "--classes", classes, "--leaves", leaves, *more, "-o", "out.json")
    assert text in refused(*arguments)


def test_outputs_that_cannot_be_written_are_refused_before_the_work(
    refused, carcinoma, model, tmp_path, monkeypatch
):
    def never(*_, **__):
        pytest.fail("the work began")

    for work in ("select", "fit", "assign", "draw", "random_model"):
        monkeypatch.setattr(f"lacunet.api.{work}", never)
    (tmp_path / "file").write_text("here first")
    below = "is a file, not a folder. Choose a folder that you may write to."
    data = (carcinoma, *WEIGHTED)
    of_model = ("--model", model, "-o")
    assert below in refused("select", *data, "--save", "file/out")
    assert "file is a file, and a folder is needed." in refused("select", *data, "--save", "file")
    assert "file is a file, and a folder is needed." in refused("demo", "--save", "file")
    for command in (
        ("fit", *data, "--states", 2, "--save"),
        ("random", "--classes", 2, "--leaves", 2, "-o"),
    ):
        assert f"file/x.json cannot be written: {tmp_path / 'file'} {below}" in refused(
            *command, "file/x.json"
        )
        assert f"{tmp_path} is a folder. Give the name of a file" in refused(*command, tmp_path)
        assert "/dev/null is not an ordinary file." in refused(*command, "/dev/null")
    (tmp_path / "folder.csv").mkdir()
    for command in (("assign", carcinoma, *of_model), ("simulate", "--rows", 5, *of_model)):
        assert below in refused(*command, "file/x.csv")
        assert "folder.csv is a folder." in refused(*command, "folder.csv")
        assert "x.xlsx: the ending '.xlsx' is not known. A table may be written to .csv" in refused(
            *command, "x.xlsx"
        )
    assert (tmp_path / "file").read_text() == "here first"


@pytest.mark.slow
def test_the_most_common_mistakes_in_a_process(lacunet, carcinoma, tmp_path):
    (tmp_path / "file").write_text("")
    for arguments, text in (
        (("select", "nil.csv"), "error: there is no file nil.csv. Check the name and the folder."),
        (
            ("fit", carcinoma, "--states", 2, "--save", "file/m.json"),
            "error: file/m.json cannot be",
        ),
        (
            ("fit", carcinoma),
            "error: give --classes for a latent class model, or --network; one of the two.",
        ),
        (("selct", carcinoma), "No such command 'selct'"),
    ):
        ran = lacunet(*arguments)
        assert (ran.code, ran.out) == (2, "")
        assert text in ran.err
        assert "Traceback" not in ran.err
    assert [p.name for p in tmp_path.iterdir()] == ["file"]
