// The process tree and its ports, as the operating system reports them.
import { execFileSync, spawnSync } from "node:child_process";
import { existsSync, readdirSync, readFileSync, readlinkSync } from "node:fs";
import { setImmediate } from "node:timers/promises";
import type { Command } from "./commands.ts";

type Process = { pid: number; parent: number; state: string };

const hasProc = existsSync("/proc/self/stat");
const isZombie = ({ state }: Process): boolean => state.startsWith("Z");

/** Children, their children, and so on. */
export function descendantsOf(pid: number): number[] {
  const all = processes();
  const below = (parent: number): number[] =>
    all.filter((process) => process.parent === parent).flatMap((process) => [process.pid, ...below(process.pid)]);
  return below(pid);
}

/** The processes that still run. A process that has ended, but that init has not collected yet, does not. */
export function stillRunning(pids: readonly number[]): number[] {
  const running = new Set(processes().flatMap((one) => (isZombie(one) ? [] : [one.pid])));
  return pids.filter((pid) => running.has(pid));
}

/** Processes whose command line contains a text. */
export const runningWith = (text: string): number[] =>
  processes().flatMap((one) => (!isZombie(one) && nameOf(one.pid).includes(text) ? [one.pid] : []));

/** The two runtimes of `wrangler dev`: one listens, and the other, which can be debugged, runs the Worker. */
export function runtimesAmong(pids: readonly number[]): { listener: number | undefined; worker: number | undefined } {
  const runtimes = pids.filter((pid) => /\bworkerd serve\b/.test(nameOf(pid)));
  const isWorker = (pid: number) => nameOf(pid).includes("--inspector-addr");
  return { listener: runtimes.find((pid) => !isWorker(pid)), worker: runtimes.find(isWorker) };
}

/** The command line of a process. */
const nameOf = (pid: number): string =>
  hasProc
    ? read(`/proc/${pid}/cmdline`).replaceAll("\0", " ")
    : execFileSync("ps", ["-o", "command=", "-p", String(pid)], { encoding: "utf8" });

/** Waits until a process listens on loopback, and returns its port, for a program that binds a free port and does not print it. */
export async function untilListening({ child, output }: Command): Promise<number> {
  for (;;) {
    const port = portOf(child.pid ?? 0);
    if (port !== undefined) return port;
    if (child.exitCode !== null) throw new Error(output());
    await setImmediate();
  }
}

function portOf(pid: number): number | undefined {
  if (!hasProc) {
    const args = ["-a", "-nP", "-p", String(pid), "-iTCP@127.0.0.1", "-sTCP:LISTEN", "-Fn"];
    const port = /:(\d+)$/m.exec(spawnSync("lsof", args, { encoding: "utf8" }).stdout)?.[1];
    return port === undefined ? undefined : Number(port);
  }
  const sockets = new Set(namesIn(`/proc/${pid}/fd`).map((fd) => linkAt(`/proc/${pid}/fd/${fd}`)));
  // sl local_address rem_address st … inode; 0A listens.
  const rows = read("/proc/net/tcp")
    .split("\n")
    .map((line) => line.trim().split(/\s+/));
  const row = rows.find(([, local, , state, , , , , , inode]) => {
    return state === "0A" && local?.startsWith("0100007F:") && sockets.has(`socket:[${inode}]`);
  });
  return row?.[1] === undefined ? undefined : Number.parseInt(row[1].slice(-4), 16);
}

function linkAt(path: string): string {
  try {
    return readlinkSync(path);
  } catch {
    return "";
  }
}

/** Waits until each thread of a process has taken its SIGSTOP. */
export async function untilStopped(pid: number): Promise<void> {
  while (statesOf(pid).some((state) => !state.startsWith("T"))) await setImmediate();
}

/** The state of each thread, or of the whole process if the system has no /proc. */
function statesOf(pid: number): string[] {
  if (!hasProc) return processes().flatMap((one) => (one.pid === pid ? [one.state] : []));
  return namesIn(`/proc/${pid}/task`).map((thread) => statIn(`/proc/${pid}/task/${thread}/stat`).state);
}

// Small images have no ps, macOS has no /proc.
function processes(): Process[] {
  if (!hasProc) {
    const lines = execFileSync("ps", ["-axo", "pid=,ppid=,stat="], { encoding: "utf8" }).trim().split("\n");
    return lines.map((line) => {
      const [pid, parent, state = ""] = line.trim().split(/\s+/);
      return { pid: Number(pid), parent: Number(parent), state };
    });
  }
  return namesIn("/proc")
    .filter((name) => /^\d+$/.test(name))
    .map((name) => ({ pid: Number(name), ...statIn(`/proc/${name}/stat`) }))
    .filter(({ state }) => state !== "");
}

/** Returns an empty state if the process is gone. */
function statIn(file: string): Omit<Process, "pid"> {
  const stat = read(file);
  // pid (name, which may hold anything) state ppid …
  const [state = "", parent = ""] = stat.slice(stat.lastIndexOf(")") + 2).split(" ");
  return { state, parent: Number(parent) };
}

function namesIn(folder: string): string[] {
  try {
    return readdirSync(folder);
  } catch {
    return [];
  }
}

function read(file: string): string {
  try {
    return readFileSync(file, "utf8");
  } catch {
    return "";
  }
}
