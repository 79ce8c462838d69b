// Sorts test files by size, then by name. vitest would sort them by the durations of earlier runs on the same machine.
import { statSync } from "node:fs";
import { BaseSequencer, type TestSpecification } from "vitest/node";

export class FixedOrder extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const sized = files.map((file) => ({ file, size: statSync(file.moduleId).size }));
    sized.sort((a, b) => b.size - a.size || (a.file.moduleId < b.file.moduleId ? -1 : 1));
    return sized.map(({ file }) => file);
  }
}
