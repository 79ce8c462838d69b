// Reads the kernel's line about a process as proc_pid_stat(5) defines it.
import { expect, it } from "vitest";
import { parseStat } from "../../bench/cpu.ts";

const stat = (name: string) =>
  `4711 (${name}) S 815 4711 7832 0 -1 4194304 101 2 3 4 250 50 70 90 20 0 1 0 1232133 3133440 388`;

it("reads the process's own user and system time, not that of its children", () => {
  expect(parseStat(stat("workerd"))).toEqual({ name: "workerd", parent: 815, cpuMicros: 3_000_000 });
});

it("reads a name with spaces and parentheses", () => {
  expect(parseStat(stat("a) R 1 (b"))).toEqual({ name: "a) R 1 (b", parent: 815, cpuMicros: 3_000_000 });
});
