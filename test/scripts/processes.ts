// Who descends from whom, as the operating system sees it.
import { execFileSync } from "node:child_process";
import { existsSync, readdirSync, readFileSync } from "node:fs";

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
