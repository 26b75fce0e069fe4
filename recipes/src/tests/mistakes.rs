//! What people read when a recipe is wrong.

use super::{mistakes, mistakes_of};

/// A recipe with a step that is right, and what follows.
fn recipe(rest: &str) -> String {
    format!(
        "schema = 1\n[[step]]\nname = \"ground\"\nrule = \"cook-texture\"\ninputs.image = \"a.png\"\n{rest}"
    )
}

fn of_recipe(rest: &str) -> String {
    mistakes(&[("maps/bgl/recipe.toml", &recipe(rest)), ("maps/bgl/a.png", "")])
}

#[test]
fn unknown_parameter_and_wrong_types() {
    insta::assert_snapshot!(of_recipe("params.formt = \"bc7\"\nparams.srgb = 1\nparams.mips.filter = 2\n"), @r#"
    error: unknown parameter `formt` of rule `cook-texture`
     --> maps/bgl/recipe.toml:6:8
      |
    6 | params.formt = "bc7"
      |        ^^^^^ expected one of: format, mips, srgb
    help: did you mean `format`?
    error: parameter `srgb` of rule `cook-texture`: found the number 1
     --> maps/bgl/recipe.toml:7:15
      |
    7 | params.srgb = 1
      |               ^ expected true or false
    error: parameter `mips.filter` of rule `cook-texture`: found the number 2
     --> maps/bgl/recipe.toml:8:22
      |
    8 | params.mips.filter = 2
      |                      ^ expected a text
    "#);
    insta::assert_snapshot!(of_recipe("params.format = \"bc71\"\n"), @r#"
    error: parameter `format` of rule `cook-texture`: "bc71" is not allowed here
     --> maps/bgl/recipe.toml:6:17
      |
    6 | params.format = "bc71"
      |                 ^^^^^^ expected one of: "bc1", "bc7"
    help: did you mean `bc1`?
    "#);
}

#[test]
fn unknown_keys_and_wrong_forms() {
    let text = "shema = 1\npipline = \"x\"\noutputs = \":a\"\n[release]\nname = \"x\"\nversion = \"1.0\"\ncode = \"abcd\"\n\
                deps = [{ slug = \"x\", range = \"^^1\" }]\n[[step]]\nnme = \"a\"\n[[step]]\nname = \"B\"\nrule = 7\n";
    insta::assert_snapshot!(mistakes(&[("maps/bgl/recipe.toml", text)]), @r#"
    error: unknown key `shema`
     --> maps/bgl/recipe.toml:1:1
      |
    1 | shema = 1
      | ^^^^^ expected one of: outputs, pipeline, release, schema, step, values
    help: did you mean `schema`?
    error: unknown key `pipline`
     --> maps/bgl/recipe.toml:2:1
      |
    2 | pipline = "x"
      | ^^^^^^^ expected one of: outputs, pipeline, release, schema, step, values
    help: did you mean `pipeline`?
    error: `outputs`: found the text ":a"
     --> maps/bgl/recipe.toml:3:11
      |
    3 | outputs = ":a"
      |           ^^^^ expected a list
    error[bad_manifest]: `1.0` is no version: unexpected end of input while parsing minor version number
     --> maps/bgl/recipe.toml:6:11
      |
    6 | version = "1.0"
      |           ^^^^^ expected one such as 1.0.0 or 1.2.0-beta.1
    error[bad_manifest]: `abcd` cannot be the code of a map
     --> maps/bgl/recipe.toml:7:8
      |
    7 | code = "abcd"
      |        ^^^^^^ expected three of A-Z and 0-9
    error[bad_manifest]: `^^1` is no range of versions: unexpected character '^' while parsing major version number
     --> maps/bgl/recipe.toml:8:31
      |
    8 | deps = [{ slug = "x", range = "^^1" }]
      |                               ^^^^^ expected one such as ^1.2.0
    error: unknown key `nme`
      --> maps/bgl/recipe.toml:10:1
       |
    10 | nme = "a"
       | ^^^ expected one of: for_each, inputs, name, params, replace, rule, when
    help: did you mean `name`?
    error: `B` cannot name a step
      --> maps/bgl/recipe.toml:12:8
       |
    12 | name = "B"
       |        ^^^ expected lower-case letters, digits, `_` and `-`
    error: `step[1].rule`: found the number 7
      --> maps/bgl/recipe.toml:13:8
       |
    13 | rule = 7
       |        ^ expected a text
    "#);
}

#[test]
fn syntax() {
    let text = "schema = 1\n[[step]\nname = \"a\nrule = \"cook-texture\"\n";
    insta::assert_snapshot!(mistakes(&[("maps/bgl/recipe.toml", text)]), @r#"
    error: not TOML: unclosed array table, expected `]`
     --> maps/bgl/recipe.toml:2:8
      |
    2 | [[step]
      |        ^
    "#);
}

#[test]
fn unknown_rule_and_step_without_one() {
    let text = "schema = 1\n[[step]]\nname = \"a\"\nrule = \"cook-txture\"\n[[step]]\nname = \"b\"\n\
                [[step]]\nname = \"c\"\nrule = \"gather\"\ninputs.files = [\":a\", \":b\"]\n";
    insta::assert_snapshot!(mistakes(&[("maps/bgl/recipe.toml", text)]), @r#"
    error: unknown rule `cook-txture`
     --> maps/bgl/recipe.toml:4:8
      |
    4 | rule = "cook-txture"
      |        ^^^^^^^^^^^^^ `bake rules` lists them all
    help: did you mean `cook-texture`?
    error: step `b` has no rule
     --> maps/bgl/recipe.toml:6:8
      |
    6 | name = "b"
      |        ^^^ expected `rule`
    "#);
}

#[test]
fn missing_inputs() {
    let text = "schema = 1\n[[step]]\nname = \"a\"\nrule = \"gather\"\ninputs.files = [\"a.pgn\", \"*.wav\", \"sub\", \"../x\"]\n";
    let files = [("maps/bgl/recipe.toml", text), ("maps/bgl/a.png", ""), ("maps/bgl/sub/x", "")];
    insta::assert_snapshot!(mistakes(&files), @r#"
    error: there is no file `maps/bgl/a.pgn`
     --> maps/bgl/recipe.toml:5:17
      |
    5 | inputs.files = ["a.pgn", "*.wav", "sub", "../x"]
      |                 ^^^^^^^
    help: did you mean `a.png`?
    error: no file matches `*.wav`
     --> maps/bgl/recipe.toml:5:26
      |
    5 | inputs.files = ["a.pgn", "*.wav", "sub", "../x"]
      |                          ^^^^^^^ add a `?` if that is meant
    error: `sub` is a folder, expected a file or a glob
     --> maps/bgl/recipe.toml:5:35
      |
    5 | inputs.files = ["a.pgn", "*.wav", "sub", "../x"]
      |                                   ^^^^^
    help: did you mean `sub/**`?
    error: `../x` leads out of the workspace, expected a path below the recipe's folder, or `//` and a path in the workspace
     --> maps/bgl/recipe.toml:5:42
      |
    5 | inputs.files = ["a.pgn", "*.wav", "sub", "../x"]
      |                                          ^^^^^^
    "#);
}

#[test]
fn inputs_left_open_or_unknown() {
    let text = "schema = 1\n[[step]]\nname = \"a\"\nrule = \"cook-texture\"\ninputs.imge = \"recipe.toml\"\n\
                params.format = \"bc1\"\n[[step]]\nname = \"b\"\nrule = \"gather\"\ninputs.files = \":gone?\"\n";
    insta::assert_snapshot!(mistakes(&[("maps/bgl/recipe.toml", text)]), @r#"
    error: rule `cook-texture` has no input `imge`
     --> maps/bgl/recipe.toml:5:8
      |
    5 | inputs.imge = "recipe.toml"
      |        ^^^^ expected one of: image
    help: did you mean `image`?
    error: input `files` of rule `gather` is left open
      --> maps/bgl/recipe.toml:10:8
       |
    10 | inputs.files = ":gone?"
       |        ^^^^^ nothing of this exists here, and the rule needs it
    "#);
}

#[test]
fn kinds_that_do_not_fit() {
    let text = "schema = 1\n[[step]]\nname = \"a\"\nrule = \"gather\"\ninputs.files = \"@game\"\n\
                [[step]]\nname = \"b\"\nrule = \"cook-texture\"\nparams.format = \"bc1\"\ninputs.image = \":a.all\"\n\
                [[step]]\nname = \"c\"\nrule = \"cook-texture\"\nparams.format = \"bc1\"\n\
                inputs.image = [\"recipe.toml\", \":a.list\"]\n\
                [[step]]\nname = \"d\"\nrule = \"extract-donors\"\nparams.donors = []\ninputs.game = \"recipe.toml\"\n";
    insta::assert_snapshot!(mistakes(&[("maps/bgl/recipe.toml", text)]), @r#"
    error: input `files` holds files, an external is given
     --> maps/bgl/recipe.toml:5:16
      |
    5 | inputs.files = "@game"
      |                ^^^^^^^
    help: only imports read externals: take what is needed out of it with one
    error: input `image` is one file, a tree is given
      --> maps/bgl/recipe.toml:10:16
       |
    10 | inputs.image = ":a.all"
       |                ^^^^^^^^
    help: choose a file of it: `:step.output/path/of/file`
    error: input `image` takes one source, 2 are given
      --> maps/bgl/recipe.toml:15:32
       |
    15 | inputs.image = ["recipe.toml", ":a.list"]
       |                                ^^^^^^^^^
    error: input `game` is an external, a file or tree is given
      --> maps/bgl/recipe.toml:20:15
       |
    20 | inputs.game = "recipe.toml"
       |               ^^^^^^^^^^^^^
    help: expected one such as `@game`
    "#);
}

#[test]
fn references_to_nothing() {
    let text = "schema = 1\noutputs = [\":a.al\", \"a\"]\n[[step]]\nname = \"a\"\nrule = \"gather\"\n\
                inputs.files = [\":bb\", \"maps/other:x\", \":b\", \":b.lst\", \"@gme\", \"{item}\", \"{release.id}\"]\n\
                [[step]]\nname = \"b\"\nrule = \"gather\"\ninputs.files = \"recipe.toml\"\nfor_each = \"values.list\"\n\
                [[step]]\nname = \"c\"\nrule = \"gather\"\ninputs.files = \"recipe.toml\"\nfor_each = \"values.n\"\n\
                [[step]]\nname = \"d\"\nrule = \"gather\"\ninputs.files = \"recipe.toml\"\nfor_each = \"values.nothing\"\n\
                [values]\nn = 1\nlist = [\"a\", { id = \"a\" }, { x = 1 }]\n";
    insta::assert_snapshot!(mistakes(&[("maps/bgl/recipe.toml", text)]), @r#"
    error: step `a` has no output `al`
     --> maps/bgl/recipe.toml:2:12
      |
    2 | outputs = [":a.al", "a"]
      |            ^^^^^^^ expected one of: all, list
    help: did you mean `all`?
    error: `a` is no output of this recipe
     --> maps/bgl/recipe.toml:2:21
      |
    2 | outputs = [":a.al", "a"]
      |                     ^^^ expected one such as `:archive.archive`
    error: `maps/bgl` has no step `bb`
     --> maps/bgl/recipe.toml:6:17
      |
    6 | inputs.files = [":bb", "maps/other:x", ":b", ":b.lst", "@gme", "{item}", "{release.id}"]
      |                 ^^^^^ expected one of: a, b, c, d
    help: did you mean `b`?
    error: there is no recipe `maps/other`
     --> maps/bgl/recipe.toml:6:24
      |
    6 | inputs.files = [":bb", "maps/other:x", ":b", ":b.lst", "@gme", "{item}", "{release.id}"]
      |                        ^^^^^^^^^^^^^^
    help: there are: maps/bgl
    error: step `b` has several outputs, one must be named
     --> maps/bgl/recipe.toml:6:40
      |
    6 | inputs.files = [":bb", "maps/other:x", ":b", ":b.lst", "@gme", "{item}", "{release.id}"]
      |                                        ^^^^ expected one of: all, list
    error: step `b` has no output `lst`
     --> maps/bgl/recipe.toml:6:46
      |
    6 | inputs.files = [":bb", "maps/other:x", ":b", ":b.lst", "@gme", "{item}", "{release.id}"]
      |                                              ^^^^^^^^ expected one of: all, list
    help: did you mean `list`?
    error: unknown external `@gme`
     --> maps/bgl/recipe.toml:6:56
      |
    6 | inputs.files = [":bb", "maps/other:x", ":b", ":b.lst", "@gme", "{item}", "{release.id}"]
      |                                                        ^^^^^^ expected one of: @game, @mappings, @ce-maps, @runtime
    help: did you mean `game`?
    error: `{item}` is known in steps with `for_each` only
     --> maps/bgl/recipe.toml:6:64
      |
    6 | inputs.files = [":bb", "maps/other:x", ":b", ":b.lst", "@gme", "{item}", "{release.id}"]
      |                                                                ^^^^^^^^
    error: unknown name `{release.id}`, known are: build, recipe, values
     --> maps/bgl/recipe.toml:6:74
      |
    6 | inputs.files = [":bb", "maps/other:x", ":b", ":b.lst", "@gme", "{item}", "{release.id}"]
      |                                                                          ^^^^^^^^^^^^^^
    error: `values.n` is no list
      --> maps/bgl/recipe.toml:16:12
       |
    16 | for_each = "values.n"
       |            ^^^^^^^^^^ expected a list such as `values.donors` or a tree such as `:extract.descriptors`
    error: there is no `values.nothing` in this recipe
      --> maps/bgl/recipe.toml:21:12
       |
    21 | for_each = "values.nothing"
       |            ^^^^^^^^^^^^^^^^ expected a list such as `values.donors` or a tree such as `:extract.descriptors`
    error: two entries are called `a`
      --> maps/bgl/recipe.toml:24:14
       |
    24 | list = ["a", { id = "a" }, { x = 1 }]
       |              ^^^^^^^^^^^^
    error: an entry that a step runs for needs a name
      --> maps/bgl/recipe.toml:24:28
       |
    24 | list = ["a", { id = "a" }, { x = 1 }]
       |                            ^^^^^^^^^ expected `name` or `id`: letters, digits, `_`, `-`, `.`
    "#);
}

#[test]
fn duplicate_step() {
    insta::assert_snapshot!(of_recipe("params.format = \"bc1\"\n[[step]]\nname = \"ground\"\nrule = \"gather\"\n"), @r#"
    error: two steps are called `ground`
     --> maps/bgl/recipe.toml:8:8
      |
    3 | name = "ground"
      |        -------- the first one
    ...
    8 | name = "ground"
      |        ^^^^^^^^ the second one
    "#);
}

#[test]
fn cycle() {
    let step = |name: &str, from: &str| {
        format!("[[step]]\nname = \"{name}\"\nrule = \"gather\"\ninputs.files = \"{from}.all\"\n")
    };
    let one = format!("schema = 1\n{}{}", step("a", ":b"), step("b", "maps/two:c"));
    let two = format!("schema = 1\n{}", step("c", "maps/one:a"));
    insta::assert_snapshot!(mistakes(&[("maps/one/recipe.toml", &one), ("maps/two/recipe.toml", &two)]), @r#"
    error: these steps wait for each other: maps/one:b > maps/one:a > maps/two:c > maps/one:b
     --> maps/one/recipe.toml:7:8
      |
    7 | name = "b"
      |        ^^^ this step waits for itself
    "#);
}

const PACK: &str = "schema = 1\npipeline = \"forge-pack\"\n[release]\nname = \"P\"\nversion = \"1.0.0\"\n\
                    [[values.donors]]\nname = \"T\"\npackage = \"/Game/T\"\n";

#[test]
fn external_set_but_missing() {
    let files = [
        ("forge-packs/one/recipe.toml", PACK),
        ("forge-packs/one/README.md", ""),
        ("bake.local.toml", "schema = 1\n[game]\npath = \"nowhere/Paks\"\n"),
    ];
    insta::assert_snapshot!(mistakes(&files), @r#"
    error: @game is set to `<root>/nowhere/Paks`, which does not exist
     --> bake.local.toml:3:8
      |
    3 | path = "nowhere/Paks"
      |        ^^^^^^^^^^^^^^ correct it, or remove it to build from the stand-in
    "#);
}

#[test]
fn claims_of_two_recipes() {
    let one = PACK.replace("name = \"P\"", "name = \"P\"\nid = \"same\"\ncode = \"ABC\"");
    let two = format!("{one}[values]\nchunk = 7\n");
    let own = "schema = 1\n[[step]]\nname = \"own\"\nrule = \"pack\"\nparams.name = \"pakchunk7-same_P\"\n\
               inputs.packages = \"recipe.toml\"\n";
    let two = two.replace("[[values.donors]]\nname = \"T\"\npackage = \"/Game/T\"\n[values]\n", "[values]\n")
        + "donors = [{ name = \"T\", package = \"/Game/T\" }]\n";
    let files = [
        ("forge-packs/one/recipe.toml", one.as_str()),
        ("forge-packs/one/README.md", ""),
        ("forge-packs/two/recipe.toml", &two),
        ("forge-packs/two/README.md", ""),
        ("maps/three/recipe.toml", own),
    ];
    insta::assert_snapshot!(mistakes_of(&files, &["forge-packs/one"]), @r#"
    error: `forge-packs/one` and `forge-packs/two` both claim the release id `same`
     --> forge-packs/two/recipe.toml:5:6
      |
    5 | id = "same"
      |      ^^^^^^ claimed here
      |
     ::: forge-packs/one/recipe.toml:5:6
      |
    5 | id = "same"
      |      ^^^^^^ and here
    error: `forge-packs/one` and `forge-packs/two` both claim the code `ABC`
     --> forge-packs/two/recipe.toml:6:8
      |
    6 | code = "ABC"
      |        ^^^^^ claimed here
      |
     ::: forge-packs/one/recipe.toml:6:8
      |
    6 | code = "ABC"
      |        ^^^^^ and here
    "#);
    insta::assert_snapshot!(mistakes_of(&files, &["maps/three"]), @r#"
    error: `forge-packs/two` and `maps/three` both claim the container name `pakchunk7-same_P`
     --> maps/three/recipe.toml:5:15
      |
    5 | params.name = "pakchunk7-same_P"
      |               ^^^^^^^^^^^^^^^^^^ claimed here
      |
     ::: forge-packs/two/recipe.toml:2:12
      |
    2 | pipeline = "forge-pack"
      |            ^^^^^^^^^^^^ and here
    "#);
}

#[test]
fn pipelines_and_their_values() {
    let unknown = "schema = 1\npipeline = \"forge-pak\"\noutputs = [\":archive\"]\n[[step]]\nname = \"pack\"\nparams.name = \"x\"\n";
    insta::assert_snapshot!(mistakes(&[("forge-packs/one/recipe.toml", unknown)]), @r#"
    error: unknown pipeline `forge-pak`
     --> forge-packs/one/recipe.toml:2:12
      |
    2 | pipeline = "forge-pak"
      |            ^^^^^^^^^^^ expected one of: forge-pack, prebuilt
    help: did you mean `forge-pack`?
    "#);
    let bare = "schema = 1\npipeline = \"forge-pack\"\n";
    insta::assert_snapshot!(mistakes(&[("forge-packs/one/recipe.toml", bare)]), @r#"
    error: the pipeline `forge-pack` needs a table [release]
     --> forge-packs/one/recipe.toml:2:12
      |
    2 | pipeline = "forge-pack"
      |            ^^^^^^^^^^^^ it names and versions what is built
    "#);
    let text = "schema = 1\npipeline = \"forge-pack\"\n[release]\nname = \"P\"\nversion = \"1\"\n\
                [values]\nchnk = 3\nchunk = -1\ndonors = [{ name = \"a\", pakage = \"b\" }]\n\
                [[step]]\nname = \"pack\"\nrule = \"pack\"\n[[step]]\nname = \"pak\"\n\
                [[step]]\nname = \"extra\"\nrule = \"manifest\"\nreplace = true\n";
    let files = [("forge-packs/one/recipe.toml", text), ("forge-packs/one/README.md", "")];
    insta::assert_snapshot!(mistakes(&files), @r#"
    error[bad_manifest]: `1` is no version: unexpected end of input while parsing major version number
     --> forge-packs/one/recipe.toml:5:11
      |
    5 | version = "1"
      |           ^^^ expected one such as 1.0.0 or 1.2.0-beta.1
    error: unknown value `chnk` of the pipeline `forge-pack`
     --> forge-packs/one/recipe.toml:7:1
      |
    7 | chnk = 3
      | ^^^^ expected one of: blocks, changes, chunk, docs, donors, requires
    help: did you mean `chunk`?
    error: `values.chunk`: -1 is out of range
     --> forge-packs/one/recipe.toml:8:9
      |
    8 | chunk = -1
      |         ^^ expected at least 0
    error: unknown key `pakage`
     --> forge-packs/one/recipe.toml:9:25
      |
    9 | donors = [{ name = "a", pakage = "b" }]
      |                         ^^^^^^ expected one of: name, package
    help: did you mean `package`?
    error: the pipeline `forge-pack` has a step `pack` already
      --> forge-packs/one/recipe.toml:11:8
       |
    11 | name = "pack"
       |        ^^^^^^
    help: leave `rule` out to change its inputs and parameters, or say `replace = true`
    error: step `pak` has no rule
      --> forge-packs/one/recipe.toml:14:8
       |
    14 | name = "pak"
       |        ^^^^^ the pipeline `forge-pack` has no step of this name
    help: did you mean `pack`?
    error: there is no step `extra` to replace
      --> forge-packs/one/recipe.toml:16:8
       |
    16 | name = "extra"
       |        ^^^^^^^
    help: did you mean `extract`?
    "#);
}

#[test]
fn a_parameter_that_a_value_stands_for_is_shown_where_it_was_written() {
    let own = "schema = 1\n[[step]]\nname = \"extract\"\nrule = \"extract-donors\"\ninputs.game = \"@game\"\n\
               params.donors = \"{values.donors}\"\n[[values.donors]]\nname = \"T\"\npackage = 7\n";
    insta::assert_snapshot!(mistakes(&[("maps/bgl/recipe.toml", own)]), @r#"
    error: parameter `donors[0].package` of rule `extract-donors`: found the number 7
     --> maps/bgl/recipe.toml:9:11
      |
    9 | package = 7
      |           ^ expected a text
    "#);
}

#[test]
fn labels_that_name_nothing() {
    let files =
        [("maps/bgl/recipe.toml", recipe("params.format = \"bc1\"\n")), ("maps/bgl/a.png", String::new())];
    let files = files.each_ref().map(|(path, text)| (*path, text.as_str()));
    let found = mistakes_of(&files, &["maps/bg1", "maps/bgl:grund", "forge-packs/...", "a:b:c:d"]);
    insta::assert_snapshot!(found, @r#"
    error: there is no recipe `maps/bg1`
    help: did you mean `maps/bgl`?
    error: `maps/bgl` has no step `grund`, it has: ground
    help: did you mean `ground`?
    error: `forge-packs/...` names no recipe
    help: recipes are files `recipe.toml` in folders below `maps/` and `forge-packs/`
    error: `a:b:c:d` is no label: at most recipe, step and instance, with `:` between
    "#);
    insta::assert_snapshot!(mistakes_of(&files, &["maps/bgl:ground:x"]), @r#"error: `maps/bgl:ground` has no instances: it runs once"#);
    insta::assert_snapshot!(mistakes_of(&files, &[".\\maps\\bg1"]), @r#"
    error: there is no recipe `maps/bg1`
    help: did you mean `maps/bgl`?
    "#);
    insta::assert_snapshot!(mistakes_of(&[], &["..."]), @r#"
    error: `...` names no recipe
    help: recipes are files `recipe.toml` in folders below `maps/` and `forge-packs/`
    "#);
}

#[test]
fn settings() {
    let text = "schema = 2\n[gme]\npath = \"x\"\n[mappings]\npath = 3\n[store]\nsize = \"20 GB\"\n";
    insta::assert_snapshot!(mistakes(&[("bake.toml", text)]), @r#"
    error: unknown key `gme`
     --> bake.toml:2:2
      |
    2 | [gme]
      |  ^^^ expected one of: ce-maps, game, mappings, runtime, schema, signing, store, tools
    help: did you mean `game`?
    error: `mappings.path`: found the number 3
     --> bake.toml:5:8
      |
    5 | path = 3
      |        ^ expected a text
    error: `schema`: 2 is out of range
     --> bake.toml:1:10
      |
    1 | schema = 2
      |          ^ expected at most 1
    error: `20 GB` is no size
     --> bake.toml:7:8
      |
    7 | size = "20 GB"
      |        ^^^^^^^ expected one such as 512M or 20G
    "#);
}

#[test]
fn a_file_that_the_pipeline_takes_by_default_is_missing() {
    insta::assert_snapshot!(mistakes(&[("forge-packs/one/recipe.toml", PACK)]), @r#"
    error: there is no file `forge-packs/one/README.md`
     --> forge-packs/one/recipe.toml:2:12
      |
    2 | pipeline = "forge-pack"
      |            ^^^^^^^^^^^^
    "#);
}

#[test]
fn a_mistake_in_a_pipeline_is_said_once() {
    let pipeline =
        "schema = 1\n[[step]]\nname = \"a\"\nrule = \"gather\"\ninputs.files = \"recipe.toml\"\nfor = 1\n";
    let recipe = "schema = 1\npipeline = \"own\"\n";
    let files =
        [("pipelines/own.toml", pipeline), ("maps/a/recipe.toml", recipe), ("maps/b/recipe.toml", recipe)];
    insta::assert_snapshot!(mistakes(&files), @r#"
    error: unknown key `for`
     --> pipelines/own.toml:6:1
      |
    6 | for = 1
      | ^^^ expected one of: for_each, inputs, name, params, replace, rule, when
    "#);
}

#[test]
fn no_text_makes_it_panic() {
    let whole = "schema = 1\npipeline = \"forge-pack\"\n[release]\nname = \"Pä\u{1f3d4}ck\"\nversion = \"1.0.0\"\n\
                 [[values.donors]]\nname = \"T\"\npackage = \"/Game/ä{}\"\n[[step]]\nname = \"x\"\nrule = \"gather\"\n\
                 inputs.files = [\":pack\", \"{item}\", \"*.{a,b}\", \"@game\"]\nparams.ä = [1.5, { x = 2 }]\n";
    let root = super::workspace(&[]);
    let folder = root.path().join("maps/a");
    std::fs::create_dir_all(&folder).unwrap();
    let mut wrong = 0;
    let cuts = (0..whole.len()).filter(|cut| whole.is_char_boundary(*cut));
    let cut = cuts.map(|cut| whole[..cut].to_owned());
    let damaged = ['"', '[', '{', '}', '=', '\n', '.', 'ä', '0'].into_iter().flat_map(|letter| {
        let places = whole.char_indices().map(|(at, _)| at).step_by(5);
        places.map(move |at| format!("{}{letter}{}", &whole[..at], &whole[at..]))
    });
    for text in cut.chain(damaged) {
        std::fs::write(folder.join("recipe.toml"), &text).unwrap();
        let planned = super::try_plan(root.path(), &["..."], &crate::Options::default());
        let diagnostics = planned.map_or_else(|wrong| wrong, |planned| planned.notes);
        wrong += usize::from(diagnostics.iter().any(crate::Diagnostic::is_error));
        let inside = |place: &crate::Place| place.file.text.get(place.span.clone()).is_some();
        assert!(diagnostics.iter().all(|found| found.place.as_ref().is_none_or(inside)), "{text}");
        crate::render(&diagnostics, true);
    }
    assert!(wrong > 100, "{wrong}");
}
