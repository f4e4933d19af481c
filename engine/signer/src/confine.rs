//! Confines the process to the system calls that a running signer makes, and hides its memory.
//!
//! The filter is for the case that an attacker runs code of his own in this process. The code can
//! then start no program, open no other kind of socket than the signer does, and send no signal to
//! another process. It can still read and write the files that the user of the process may read and
//! write. Other processes of this user cannot read and write the memory of the signer.

use std::collections::BTreeMap;
use std::env::consts::ARCH;
use std::{io, process};

use rustix::process::{DumpableBehavior, set_dumpable_behavior};
use seccompiler::{
    BackendError, BpfProgram, SeccompAction, SeccompCmpArgLen::Dword, SeccompCmpOp,
    SeccompCondition, SeccompFilter, SeccompRule, TargetArch, apply_filter_all_threads,
};

use crate::error::Error;

/// The system calls with any arguments. Those of the start are not among them.
const CALLS: &[i64] = &[
    // sockets
    libc::SYS_accept4,
    libc::SYS_connect,
    libc::SYS_getpeername,
    libc::SYS_getsockname,
    libc::SYS_getsockopt,
    libc::SYS_recvfrom,
    libc::SYS_recvmsg,
    libc::SYS_sendmsg,
    libc::SYS_sendto,
    libc::SYS_setsockopt,
    libc::SYS_shutdown,
    // files: keys are read again, the audit log is opened again
    libc::SYS_close,
    libc::SYS_fstat,
    libc::SYS_lseek,
    libc::SYS_newfstatat,
    libc::SYS_openat,
    libc::SYS_read,
    libc::SYS_readv,
    libc::SYS_statx,
    libc::SYS_write,
    libc::SYS_writev,
    // events
    libc::SYS_epoll_create1,
    libc::SYS_epoll_ctl,
    libc::SYS_epoll_pwait,
    libc::SYS_eventfd2,
    libc::SYS_ppoll,
    // memory
    libc::SYS_brk,
    libc::SYS_madvise,
    libc::SYS_mremap,
    libc::SYS_munmap,
    // time
    libc::SYS_clock_gettime,
    libc::SYS_clock_nanosleep,
    libc::SYS_gettimeofday,
    libc::SYS_nanosleep,
    libc::SYS_restart_syscall,
    // threads and signals
    libc::SYS_exit,
    libc::SYS_exit_group,
    libc::SYS_futex,
    libc::SYS_getpid,
    libc::SYS_gettid,
    libc::SYS_rt_sigaction,
    libc::SYS_rt_sigprocmask,
    libc::SYS_rt_sigreturn,
    libc::SYS_sched_getaffinity,
    libc::SYS_sched_yield,
    libc::SYS_sigaltstack,
    // a thread that exists may begin only after this
    libc::SYS_rseq,
    libc::SYS_set_robust_list,
    // random numbers
    libc::SYS_getrandom,
    // questions of the C library and of OpenSSL
    libc::SYS_getegid,
    libc::SYS_geteuid,
    libc::SYS_getgid,
    libc::SYS_getuid,
    libc::SYS_sysinfo,
    // the message of a panic
    libc::SYS_getcwd,
    libc::SYS_readlinkat,
];

/// Further names of the same calls, which aarch64 and riscv64 lack.
#[cfg(target_arch = "x86_64")]
const OLD_CALLS: &[i64] =
    &[libc::SYS_epoll_wait, libc::SYS_open, libc::SYS_poll, libc::SYS_readlink, libc::SYS_stat];
#[cfg(not(target_arch = "x86_64"))]
const OLD_CALLS: &[i64] = &[];

/// The commands of `fcntl`. With others the kernel would send signals to other processes.
const OF_FILES: [i32; 5] =
    [libc::F_DUPFD_CLOEXEC, libc::F_GETFD, libc::F_GETFL, libc::F_SETFD, libc::F_SETFL];

/// Hides the memory of this process, with its keys, from other processes of the same user and from
/// core dumps. Only a process with the capability `CAP_SYS_PTRACE` can still read it. Call it
/// before keys are read.
///
/// # Errors
///
/// The kernel refuses.
pub fn hide_memory() -> Result<(), Error> {
    set_dumpable_behavior(DumpableBehavior::NotDumpable)
        .map_err(|why| Error::system("hiding the memory of the process")(why.into()))
}

/// Refuses to this process, for good, all system calls that a running signer does not make, and
/// sets `no_new_privs`. Call it when the signer runs: none can start afterwards.
///
/// A refused call fails as if the kernel lacked it, so a later version of the C library that tries
/// a new call uses the old one.
///
/// # Errors
///
/// The kernel has no filters of system calls, or the architecture is none of x86-64, aarch64 and
/// riscv64.
pub fn confine() -> Result<(), Error> {
    let applied = filter().map_err(Into::into).and_then(|filter| apply_filter_all_threads(&filter));
    applied.map_err(|why| {
        let why = io::Error::other(format!("{why}: set `seccomp = false` to run without it"));
        Error::system("the filter of system calls")(why)
    })
}

fn filter() -> Result<BpfProgram, BackendError> {
    let only = |argument, operator, value| -> Result<SeccompRule, BackendError> {
        SeccompRule::new(vec![SeccompCondition::new(argument, Dword, operator, value)?])
    };
    let one_of = |argument, values: &[u64]| -> Result<Vec<SeccompRule>, BackendError> {
        values.iter().map(|value| only(argument, SeccompCmpOp::Eq, *value)).collect()
    };
    let mut rules: BTreeMap<i64, Vec<SeccompRule>> =
        CALLS.iter().chain(OLD_CALLS).map(|call| (*call, Vec::new())).collect();
    rules.insert(libc::SYS_fcntl, one_of(1, &OF_FILES.map(unsigned))?);
    let executable = SeccompCmpOp::MaskedEq(unsigned(libc::PROT_EXEC));
    rules.insert(libc::SYS_mmap, vec![only(2, executable.clone(), 0)?]);
    rules.insert(libc::SYS_mprotect, vec![only(2, executable, 0)?]);
    // systemd
    let local = only(0, SeccompCmpOp::Eq, unsigned(libc::AF_UNIX))?;
    rules.insert(libc::SYS_socket, vec![local]);
    // sockets become non-blocking; a panic asks if standard error is a terminal
    rules.insert(libc::SYS_ioctl, one_of(1, &[libc::FIONBIO, libc::TCGETS])?);
    // an abort signals its own thread
    rules.insert(libc::SYS_tgkill, vec![only(0, SeccompCmpOp::Eq, process::id().into())?]);
    // a thread that begins takes its name
    rules.insert(libc::SYS_prctl, one_of(0, &[unsigned(libc::PR_SET_NAME)])?);
    let refuse = SeccompAction::Errno(libc::ENOSYS.cast_unsigned());
    let architecture = TargetArch::try_from(ARCH)?;
    SeccompFilter::new(rules, refuse, SeccompAction::Allow, architecture)?.try_into()
}

fn unsigned(constant: i32) -> u64 {
    u64::from(constant.cast_unsigned())
}

#[cfg(test)]
#[allow(unsafe_code, reason = "calls that the filter must refuse")]
mod tests {
    use std::fs;
    use std::os::fd::{AsFd as _, AsRawFd as _, BorrowedFd};
    use std::os::unix::process::parent_id;
    use std::process::Command;
    use std::thread;

    use rustix::io::Errno;
    use rustix::net::{AddressFamily, SocketType};
    use seccompiler::apply_filter;

    use super::*;
    /// Checks that a signal could be sent to a thread, without one.
    fn signal_zero(process: u32, thread: i32) -> io::Result<()> {
        // SAFETY: three numbers; signal 0 does nothing.
        let result = unsafe { libc::syscall(libc::SYS_tgkill, process.cast_signed(), thread, 0) };
        if result == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
    }

    /// Lets the kernel send signals about a socket to this process.
    fn own_signals(socket: BorrowedFd<'_>) -> io::Result<()> {
        let process = process::id().cast_signed();
        // SAFETY: three numbers; the descriptor is open.
        let result = unsafe { libc::fcntl(socket.as_raw_fd(), libc::F_SETOWN, process) };
        if result == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
    }

    #[test]
    fn only_the_own_process_gets_signals() {
        let own = || signal_zero(process::id(), rustix::thread::gettid().as_raw_nonzero().get());
        let parent = || signal_zero(parent_id(), parent_id().cast_signed());
        assert_ne!(parent().map_err(|why| why.raw_os_error()), Err(Some(libc::ENOSYS)));
        let socket = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        let owned = || own_signals(socket.as_fd()).map_err(|why| why.raw_os_error());
        assert_eq!(owned(), Ok(()));
        let (own, parent, owned) = thread::scope(|scope| {
            let confined = scope.spawn(|| {
                apply_filter(&filter().unwrap()).unwrap();
                assert!(socket.try_clone().is_ok());
                (own(), parent(), owned())
            });
            confined.join().unwrap()
        });
        assert!(own.is_ok(), "{own:?}");
        assert_eq!(owned, Err(Some(libc::ENOSYS)), "the kernel would send them");
        assert_eq!(parent.map_err(|why| why.raw_os_error()), Err(Some(libc::ENOSYS)));
    }

    /// The filter of one thread: its other threads are those of other tests.
    #[test]
    fn no_program_starts_and_no_other_socket_opens() {
        let confined = thread::spawn(|| {
            apply_filter(&filter().unwrap()).unwrap();
            let started = Command::new("/bin/true").status().map_err(|why| why.raw_os_error());
            let packet = rustix::net::socket(AddressFamily::PACKET, SocketType::RAW, None).err();
            let tcp = rustix::net::socket(AddressFamily::INET, SocketType::STREAM, None).err();
            let local = rustix::net::socket(AddressFamily::UNIX, SocketType::DGRAM, None).is_ok();
            (started, packet, tcp, local && fs::read("/proc/self/status").is_ok())
        });
        let (started, packet, tcp, works) = confined.join().unwrap();
        assert_eq!(started, Err(Some(libc::ENOSYS)));
        assert_eq!(packet, Some(Errno::NOSYS));
        assert_eq!(tcp, Some(Errno::NOSYS));
        assert!(works, "the socket of systemd, and files");
    }
}
