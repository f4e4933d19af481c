//! `cargo xtask gpu`: compiles the device code of `tollgate-cuda` with NVIDIA's compiler, whose Python
//! packages it installs in `target/cuda`, and writes `engine/cuda/prebuilt`. The tests of the crate
//! compare that folder with the source.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};

use serde_json::{Value, json};
use sha2::{Digest as _, Sha256};

/// The compiler and the disassembler. Other versions make other code.
const PACKAGES: [&str; 5] = [
    "nvidia-cuda-nvcc==13.0.88",
    "nvidia-nvvm==13.0.88",
    "nvidia-cuda-crt==13.0.88",
    "nvidia-cuda-runtime==13.0.96",
    "nvidia-cuda-nvdisasm==13.2.86",
];
const ROOT: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/..");
const DEVICE: &str = "engine/cuda/device";
const PREBUILT: &str = "engine/cuda/prebuilt";
/// The files that nvcc reads.
const SOURCES: [&str; 9] = [
    "doubles_cuda.cuh",
    "kernels.cu",
    "lanes.h",
    "lanes_cuda.cuh",
    "layout.h",
    "limbs52.h",
    "number.h",
    "power52.h",
    "private.h",
];
/// The oldest architecture that the PTX suits, and the one that has machine code.
const PTX: &str = "compute_80";
const CUBIN: &str = "sm_90";
/// Level of compression, the best.
const LEVEL: u8 = 10;

/// Writes the folder. Exit code 0: done; 2: a tool is missing or failed.
pub(crate) fn write() -> ExitCode {
    match build(Path::new(ROOT)) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("xtask: {error}");
            ExitCode::from(2)
        }
    }
}

fn build(root: &Path) -> Result<(), String> {
    let tools = installed(&root.join("target/cuda"))?;
    let work = root.join("target/cuda/kernels");
    fs::create_dir_all(&work).map_err(|error| format!("{}: {error}", work.display()))?;
    let source = root.join(DEVICE).join("kernels.cu");
    let (ptx, cubin) = (work.join("kernels.ptx"), work.join("kernels.cubin"));
    let nvcc = |what: &str, architecture: &str, output: &Path| {
        let mut command = Command::new(tools.join("nvcc"));
        command.args(["-std=c++17", "-O3", what, "-Xptxas", "-v", "-arch", architecture]);
        command.arg(&source).arg("-o").arg(output);
        run(&mut command)
    };
    nvcc("-ptx", PTX, &ptx)?;
    let report = nvcc("-cubin", CUBIN, &cubin)?.1;
    let (listing, _) = run(Command::new(tools.join("nvdisasm")).arg("-c").arg(&cubin))?;
    let mut artefacts = serde_json::Map::new();
    for (name, file) in [("kernels.ptx.z", ptx), ("kernels.sm_90.cubin.z", cubin)] {
        let bytes = read(&file)?;
        let packed = miniz_oxide::deflate::compress_to_vec_zlib(&bytes, LEVEL);
        artefacts.insert(name.to_owned(), hash(&packed).into());
        save(&root.join(PREBUILT).join(name), &packed)?;
    }
    let described = json!({
        "packages": PACKAGES,
        "sources_sha256": source_hashes(root)?,
        "artefacts_sha256": artefacts,
        "kernels": kernels(&report, &listing),
    });
    let text = serde_json::to_string_pretty(&described).expect("JSON of strings and numbers");
    save(&root.join(PREBUILT).join("kernels.json"), (text + "\n").as_bytes())
}

/// Installs the packages, unless they are, and returns the folder of programs.
fn installed(folder: &Path) -> Result<PathBuf, String> {
    let environment = folder.join("python");
    if !environment.join("bin/pip").exists() {
        let advice = |error| format!("{error}; install python3-venv");
        run(Command::new("python3").args(["-m", "venv"]).arg(&environment)).map_err(advice)?;
    }
    let pip = || Command::new(environment.join("bin/pip"));
    run(pip().args(["install", "--quiet", "--disable-pip-version-check"]).args(PACKAGES))?;
    let (shown, _) = run(pip().args(["show", "--files", "nvidia-cuda-nvcc"]))?;
    let location = shown.lines().find_map(|line| line.strip_prefix("Location: "));
    let programs = Path::new(location.unwrap_or_default()).join("nvidia/cu13/bin");
    let advice = || format!("{} has no nvcc; delete {}", programs.display(), folder.display());
    programs.join("nvcc").exists().then_some(programs.clone()).ok_or_else(advice)
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

/// Returns the hash of each source, by its name.
fn source_hashes(root: &Path) -> Result<Value, String> {
    let hashed =
        |name: &str| Ok((name.to_owned(), hash(&read(&root.join(DEVICE).join(name))?).into()));
    SOURCES
        .into_iter()
        .map(hashed)
        .collect::<Result<serde_json::Map<_, _>, String>>()
        .map(Value::from)
}

/// Returns the SHA-256 of a file.
fn hash(file: &[u8]) -> String {
    Sha256::digest(file).iter().map(|byte| format!("{byte:02x}")).collect()
}

/// Runs a command; returns its output and its messages.
fn run(command: &mut Command) -> Result<(String, String), String> {
    let name = command.get_program().display().to_string();
    let output = command.output().map_err(|error| format!("{name}: {error}"))?;
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    let messages = text(&output.stderr) + &text(&output.stdout);
    if output.status.success() {
        Ok((text(&output.stdout), messages))
    } else {
        Err(format!("{name} failed ({}): {}", output.status, messages.trim()))
    }
}

fn read(file: &Path) -> Result<Vec<u8>, String> {
    fs::read(file).map_err(|error| format!("{}: {error}", file.display()))
}

fn save(file: &Path, bytes: &[u8]) -> Result<(), String> {
    let folder = file.parent().unwrap_or(file);
    fs::create_dir_all(folder)
        .and_then(|()| fs::write(file, bytes))
        .map_err(|error| format!("{}: {error}", file.display()))
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
