// The process tree and the listening ports, as the operating system reports them.
import { execFileSync } from "node:child_process";
import { existsSync, readdirSync, readFileSync, readlinkSync } from "node:fs";

type Process = { pid: number; parent: number; zombie: boolean };

/** Children, their children, and so on. */
export function descendantsOf(pid: number): number[] {
  const all = processes();
  const below = (parent: number): number[] =>
    all.filter((process) => process.parent === parent).flatMap((process) => [process.pid, ...below(process.pid)]);
  return below(pid);
}

/** Those that still run. One that has ended and waits to be collected by init does not. */
export function stillRunning(pids: readonly number[]): number[] {
  const running = new Set(processes().flatMap(({ pid, zombie }) => (zombie ? [] : [pid])));
  return pids.filter((pid) => running.has(pid));
}

/** The one of these processes that listens on a port of loopback. */
export function listenerAmong(pids: readonly number[], port: number): number | undefined {
  if (!existsSync("/proc/self/stat")) {
    const found = execFileSync("lsof", ["-t", `-iTCP:${port}`, "-sTCP:LISTEN"], { encoding: "utf8" }).split("\n");
    return pids.find((pid) => found.includes(String(pid)));
  }
  const local = `0100007F:${port.toString(16).toUpperCase().padStart(4, "0")}`;
  const rows = read("/proc/net/tcp").split("\n");
  // sl local_address rem_address st … inode; 0A listens.
  const row = rows
    .map((line) => line.trim().split(/\s+/))
    .find(([, address, , state]) => address === local && state === "0A");
  const socket = `socket:[${row?.[9]}]`;
  return pids.find((pid) => openFilesOf(pid).includes(socket));
}

/** The command line of a process. */
export const nameOf = (pid: number): string =>
  existsSync("/proc/self/stat")
    ? read(`/proc/${pid}/cmdline`).replaceAll("\0", " ")
    : execFileSync("ps", ["-o", "command=", "-p", String(pid)], { encoding: "utf8" });

function openFilesOf(pid: number): string[] {
  try {
    return readdirSync(`/proc/${pid}/fd`).map((fd) => readlinkSync(`/proc/${pid}/fd/${fd}`));
  } catch {
    return [];
  }
}

// Small images have no ps, macOS has no /proc.
function processes(): Process[] {
  if (!existsSync("/proc/self/stat")) {
    const lines = execFileSync("ps", ["-axo", "pid=,ppid=,stat="], { encoding: "utf8" }).trim().split("\n");
    return lines.map((line) => toProcess(line.trim().split(/\s+/)));
  }
  return readdirSync("/proc")
    .filter((name) => /^\d+$/.test(name))
    .flatMap((name) => {
      const stat = read(`/proc/${name}/stat`);
      // pid (name, which may hold anything) state ppid …
      const [state = "", parent = ""] = stat.slice(stat.lastIndexOf(")") + 2).split(" ");
      return stat === "" ? [] : [toProcess([name, parent, state])];
    });
}

const toProcess = ([pid = "", parent = "", state = ""]: string[]): Process => ({
  pid: Number(pid),
  parent: Number(parent),
  zombie: state.startsWith("Z"),
});

function read(file: string): string {
  try {
    return readFileSync(file, "utf8");
  } catch {
    return "";
  }
}
