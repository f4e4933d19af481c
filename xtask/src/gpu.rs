//! `cargo xtask gpu`: compiles the device code of `tollgate-cuda` with NVIDIA's compiler, whose
//! Python packages it installs in `target/cuda`, and writes `engine/cuda/prebuilt`. The tests of
//! the crate compare that folder with the source.

use std::path::{Path, PathBuf};

use serde_json::{Value, json};
use sha2::{Digest as _, Sha256};
use xshell::{Shell, cmd};

use crate::Result;
use crate::workspace::{shell, target_folder};

/// The compiler and the disassembler. Other versions make other code.
const PACKAGES: [&str; 5] = [
    "nvidia-cuda-nvcc==13.0.88",
    "nvidia-nvvm==13.0.88",
    "nvidia-cuda-crt==13.0.88",
    "nvidia-cuda-runtime==13.0.96",
    "nvidia-cuda-nvdisasm==13.2.86",
];
const DEVICE: &str = "engine/cuda/device";
const PREBUILT: &str = "engine/cuda/prebuilt";
/// The oldest architecture that the PTX suits, and the one that has machine code.
const PTX: &str = "compute_80";
const CUBIN: &str = "sm_90";
/// Level of compression, the best.
const LEVEL: u8 = 10;

/// Writes the folder.
pub(crate) fn write() -> Result<bool> {
    let (sh, folder) = (shell()?, target_folder()?.join("cuda"));
    let (tools, work) = (installed(&sh, &folder)?, sh.create_dir(folder.join("kernels"))?);
    let (ptx, cubin) = (work.join("kernels.ptx"), work.join("kernels.cubin"));
    let nvcc = |what: &str, architecture: &str, output: &Path| -> Result<String> {
        let nvcc = tools.join("nvcc");
        let nvcc = cmd!(sh, "{nvcc} -std=c++17 -O3 {what} -Xptxas -v -arch {architecture}");
        let run = nvcc.arg(format!("{DEVICE}/kernels.cu")).arg("-o").arg(output).output()?;
        Ok(String::from_utf8([run.stderr, run.stdout].concat())?)
    };
    nvcc("-ptx", PTX, &ptx)?;
    let (report, disassembler) = (nvcc("-cubin", CUBIN, &cubin)?, tools.join("nvdisasm"));
    let listing = cmd!(sh, "{disassembler} -c {cubin}").read()?;
    let mut artefacts = serde_json::Map::new();
    for (name, file) in [("kernels.ptx.z", ptx), ("kernels.sm_90.cubin.z", cubin)] {
        let bytes = sh.read_binary_file(file)?;
        let packed = miniz_oxide::deflate::compress_to_vec_zlib(&bytes, LEVEL);
        artefacts.insert(name.to_owned(), hash(&packed).into());
        sh.write_file(format!("{PREBUILT}/{name}"), packed)?;
    }
    let mut sources = serde_json::Map::new();
    for path in sh.read_dir(DEVICE)? {
        let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        // nvcc does not read the emulation.
        if !name.contains("emulated") {
            sources.insert(name, hash(&sh.read_binary_file(path)?).into());
        }
    }
    let described = json!({
        "packages": PACKAGES,
        "sources_sha256": sources,
        "artefacts_sha256": artefacts,
        "kernels": kernels(&report, &listing),
    });
    sh.write_file(format!("{PREBUILT}/kernels.json"), format!("{described:#}\n"))?;
    Ok(true)
}

/// Installs the packages, unless they are, and returns the folder of programs.
fn installed(sh: &Shell, folder: &Path) -> Result<PathBuf> {
    let environment = folder.join("python");
    let pip = environment.join("bin/pip");
    if !pip.exists() {
        let advice = |error| format!("{error}; install python3-venv");
        cmd!(sh, "python3 -m venv {environment}").run().map_err(advice)?;
    }
    cmd!(sh, "{pip} install --quiet --disable-pip-version-check").args(PACKAGES).run()?;
    let shown = cmd!(sh, "{pip} show --files nvidia-cuda-nvcc").read()?;
    let location = shown.lines().find_map(|line| line.strip_prefix("Location: "));
    let programs = Path::new(location.unwrap_or_default()).join("nvidia/cu13/bin");
    let advice = || format!("{} has no nvcc; delete {}", programs.display(), folder.display());
    Ok(programs.join("nvcc").exists().then_some(programs.clone()).ok_or_else(advice)?)
}

/// Returns what the compiler and the listing of the machine code say about each kernel.
fn kernels(report: &str, listing: &str) -> Value {
    let mut kernels = serde_json::Map::new();
    for part in report.split("Function properties for ").skip(1) {
        let name = part.split_whitespace().next().unwrap_or_default();
        let number_before = |words: &str| {
            let before = part.split(words).next().unwrap_or_default();
            before.split([' ', ',', '\n', '\t']).rfind(|word| !word.is_empty()).map(str::to_owned)
        };
        let number = |words| number_before(words).and_then(|word| word.parse::<u64>().ok());
        let code = code_of(listing, name);
        let count = |is: &dyn Fn(&Instruction<'_>) -> bool| code.iter().filter(|i| is(i)).count();
        let starts = |i: &Instruction<'_>, names: &[&str]| {
            names.iter().any(|name| i.name.split('.').next() == Some(name))
        };
        kernels.insert(
            name.to_owned(),
            json!({
                "registers": number(" registers"),
                "stack_bytes": number(" bytes stack frame"),
                "instructions": code.len(),
                "products": count(&|i| i.name.starts_with("IMAD.WIDE.U32")),
                "conditional_branches": count(&|i| starts(i, &["BRA"]) && i.is_conditional),
                "conditional_exits": count(&|i| starts(i, &["EXIT"]) && i.is_conditional),
                "other_jumps": count(&|i| starts(i, &["BRX", "JMX", "JMP", "CALL", "RET", "BRXU"])),
                "local_memory": count(&|i| starts(i, &["LDL", "STL"])),
            }),
        );
    }
    kernels.into()
}

struct Instruction<'a> {
    name: &'a str,
    is_conditional: bool,
}

/// Returns the instructions of a kernel: lines such as `/*11f0*/  @P4 BRA ...`.
fn code_of<'a>(listing: &'a str, kernel: &str) -> Vec<Instruction<'a>> {
    let label = format!(".text.{kernel}:");
    let lines = listing.lines().skip_while(|line| line.trim() != label).skip(1);
    let lines = lines.take_while(|line| !line.trim_start().starts_with(".section"));
    let instruction = |line: &'a str| {
        let code = line.trim_start().strip_prefix("/*")?.split_once("*/")?.1;
        let mut words = code.split_whitespace();
        let first = words.next()?;
        let is_conditional = first.starts_with('@') && first != "@PT" && first != "@!PT";
        let name = if first.starts_with('@') { words.next()? } else { first };
        Some(Instruction { name, is_conditional })
    };
    lines.filter_map(instruction).collect()
}

/// Returns the SHA-256 of a file.
fn hash(file: &[u8]) -> String {
    Sha256::digest(file).iter().map(|byte| format!("{byte:02x}")).collect()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::kernels;

    #[test]
    fn counts_come_from_the_report_and_the_listing() {
        let report = "ptxas info    : Function properties for blind_1024\n    \
                      8 bytes stack frame, 4 bytes spill stores, 4 bytes spill loads\n\
                      ptxas info    : Used 40 registers, used 0 barriers\n";
        let listing = "\t.section\t.text.other\n.text.other:\n/*0000*/ BRX R2 ;\n\
                       .section .text.blind_1024\n.text.blind_1024:\n\
                       /*0000*/  IMAD.WIDE.U32.X R2, P0, R1, R3, R2, P0 ;\n\
                       .L_x_1:\n/*0010*/ @!P1 BRA `(.L_x_1) ;\n/*0020*/ @P0 EXIT ;\n\
                       /*0030*/ STL [R1], R2 ;\n/*0040*/ EXIT ;\n/*0050*/ BRA `(.L_x_2) ;\n\
                       .section .text.next\n.text.next:\n/*0000*/ LDL R1, [R1] ;\n";
        let expected = json!({"blind_1024": {
            "registers": 40, "stack_bytes": 8, "instructions": 6, "products": 1,
            "conditional_branches": 1, "conditional_exits": 1, "other_jumps": 0, "local_memory": 1,
        }});
        assert_eq!(kernels(report, listing), expected);
    }
}
