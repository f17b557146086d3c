//! The index says what the debug information says, whatever compiler wrote it and however it is packed.
use crate::support::facts::assert_equal;
use crate::support::fixture::{Recipe, Tree, USUAL, possible};
use crate::support::index::{build, build_whole};
use crate::support::oracle;
use std::path::PathBuf;

/// The name of each object in the index, with its file.
fn named(objects: &[PathBuf]) -> Vec<(String, PathBuf)> {
    ["", "alpha_mod", "beta"].map(str::to_owned).into_iter().zip(objects.iter().cloned()).collect()
}

fn agree(recipe: &Recipe) {
    if !possible(recipe) {
        return;
    }
    let tree = Tree::compile(recipe);
    let index = build_whole(&tree);
    assert_equal(&index.facts(), &oracle::facts(&named(&tree.objects())), &format!("{recipe:?}"));
}

macro_rules! agree {
    ($($name:ident: $recipe:expr,)*) => {$(
        #[test]
        fn $name() {
            agree(&$recipe);
        }
    )*};
}

agree! {
    gcc_dwarf_5: USUAL,
    gcc_dwarf_4: Recipe::new("gcc", &["-O2", "-gdwarf-4"]),
    gcc_dwarf_4_strict: Recipe::new("gcc", &["-O2", "-gdwarf-4", "-gstrict-dwarf"]),
    gcc_dwarf_3: Recipe::new("gcc", &["-O2", "-gdwarf-3", "-gstrict-dwarf"]),
    gcc_64_bit_dwarf: Recipe::new("gcc", &["-O2", "-gdwarf-5", "-gdwarf64"]),
    gcc_unoptimized: Recipe::new("gcc", &["-O0", "-gdwarf-5"]),
    gcc_most_inlining: Recipe::new("gcc", &["-O3", "-gdwarf-5", "-funroll-loops"]),
    gcc_for_size: Recipe::new("gcc", &["-Os", "-gdwarf-4"]),
    gcc_line_numbers_by_the_compiler: Recipe::new("gcc", &["-O2", "-gdwarf-5", "-gno-as-loc-support"]),
    gcc_function_sections: Recipe::new("gcc", &["-O2", "-gdwarf-5", "-ffunction-sections"]),
    gcc_link_time_optimization: Recipe { lto: true, ..USUAL },
    gcc_link_time_optimization_dwarf_4: Recipe { lto: true, ..Recipe::new("gcc", &["-O2", "-gdwarf-4"]) },
    clang_link_time_optimization: Recipe { lto: true, ..Recipe::new("clang", &["-O2", "-gdwarf-5"]) },
    clang_link_time_optimization_dwarf_4: Recipe { lto: true, ..Recipe::new("clang", &["-O2", "-gdwarf-4"]) },
    clang_zlib: Recipe::new("clang", &["-O2", "-gdwarf-5", "-gz=zlib"]),
    clang_zstd: Recipe::new("clang", &["-O2", "-gdwarf-5", "-gz=zstd"]),
    as_compressed_by_default: Recipe::new("gcc", &["-O2", "-gdwarf-5", "-gz"]),
    clang_dwarf_5: Recipe::new("clang", &["-O2", "-gdwarf-5"]),
    clang_dwarf_4: Recipe::new("clang", &["-O2", "-gdwarf-4"]),
    clang_unoptimized: Recipe::new("clang", &["-O0", "-gdwarf-5"]),
    clang_function_sections: Recipe::new("clang", &["-O2", "-gdwarf-5", "-ffunction-sections"]),
    big_endian: Recipe::new("s390x-linux-gnu-gcc", &["-O2", "-gdwarf-5"]),
    big_endian_dwarf_4: Recipe::new("s390x-linux-gnu-gcc", &["-O2", "-gdwarf-4"]),
    big_endian_dwarf_3: Recipe::new("s390x-linux-gnu-gcc", &["-O2", "-gdwarf-3", "-gstrict-dwarf"]),
    big_endian_64_bit_dwarf: Recipe::new("s390x-linux-gnu-gcc", &["-O2", "-gdwarf-5", "-gdwarf64"]),
    big_endian_unoptimized: Recipe::new("s390x-linux-gnu-gcc", &["-O0", "-gdwarf-5"]),
    big_endian_zlib: Recipe::new("s390x-linux-gnu-gcc", &["-O2", "-gdwarf-5", "-gz=zlib"]),
    zlib: Recipe::new("gcc", &["-O2", "-gdwarf-5", "-gz=zlib"]),
    zlib_by_objcopy: Recipe { objcopy: &["--compress-debug-sections=zlib"], ..USUAL },
    zstd_by_objcopy: Recipe { objcopy: &["--compress-debug-sections=zstd"], ..USUAL },
    zlib_of_old_tools: Recipe { objcopy: &["--compress-debug-sections=zlib-gnu"], ..USUAL },
}

#[test]
fn debug_files() {
    let tree = Tree::compile(&Recipe { objcopy: &["--only-keep-debug"], ..USUAL });
    let index = build(&[tree.path()], 2);
    assert_equal(&index.facts(), &oracle::facts(&named(&tree.objects())), "debug files");
    let skipped = index.skipped(&tree.path());
    assert_eq!(skipped.len(), tree.objects().len(), "{skipped:#?}");
    assert!(
        skipped.iter().all(|s| s.starts_with("part of ") && s.contains("has no machine code")),
        "{skipped:#?}"
    );
}
