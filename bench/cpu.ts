// CPU time as the kernel counts it, over all threads of every workerd that this process started.
import { readdirSync, readFileSync } from "node:fs";

export type ProcessStat = { readonly name: string; readonly parent: number; readonly cpuMicros: number };

/** User and system time are in units of 1/100 s (USER_HZ) on every system where workerd runs. */
const MICROS_PER_TICK = 10_000;

/** See proc_pid_stat(5). The name is in parentheses and may contain any character, so the fields after it are searched from its last parenthesis. */
export function parseStat(text: string): ProcessStat {
  const nameEnd = text.lastIndexOf(")");
  const [, parent, , , , , , , , , , userTicks, systemTicks] = text.slice(nameEnd + 2).split(" ");
  return {
    name: text.slice(text.indexOf("(") + 1, nameEnd),
    parent: Number(parent),
    cpuMicros: (Number(userTicks) + Number(systemTicks)) * MICROS_PER_TICK,
  };
}

/** Returns a reading, in microseconds, of the time that the present workerds have used; null without /proc, as on macOS. */
export function workerdCpu(): (() => number) | null {
  const own = runningProcesses().filter((pid) => {
    const stat = statOf(pid);
    return stat?.name === "workerd" && stat.parent === process.pid;
  });
  if (own.length === 0) return null;
  return () => own.reduce((sum, pid) => sum + (statOf(pid)?.cpuMicros ?? 0), 0);
}

/** Measures the share of the machine's CPU time that other programs use from now on; null if the system does not report it. */
export function watchOthers(): () => number | null {
  const own = workerdCpu();
  const measure = () => {
    const all = machineTicks();
    if (!own || !all) return null;
    const { user, system } = process.cpuUsage();
    return { ...all, ours: (own() + user + system) / MICROS_PER_TICK };
  };
  const before = measure();
  return () => {
    const after = measure();
    if (!before || !after) return null;
    return Math.max(0, after.busy - before.busy - (after.ours - before.ours)) / (after.all - before.all);
  };
}

/** See proc_stat(5): the first line sums up all processors. The fourth and fifth numbers are idle; those after the eighth are counted in others. */
function machineTicks(): { readonly all: number; readonly busy: number } | null {
  try {
    const [line = ""] = readFileSync("/proc/stat", "utf8").split("\n");
    const ticks = line.trim().split(/\s+/).slice(1, 9).map(Number);
    const all = ticks.reduce((sum, one) => sum + one, 0);
    return { all, busy: all - (ticks[3] ?? 0) - (ticks[4] ?? 0) };
  } catch {
    return null;
  }
}

function runningProcesses(): string[] {
  try {
    return readdirSync("/proc").filter((name) => /^\d+$/.test(name));
  } catch {
    return [];
  }
}

/** Null for a process that has ended. */
function statOf(pid: string): ProcessStat | null {
  try {
    return parseStat(readFileSync(`/proc/${pid}/stat`, "utf8"));
  } catch {
    return null;
  }
}
