// The order of the test files: the largest first, then by name. By default vitest orders them by what earlier runs on the same machine took.
import { statSync } from "node:fs";
import { BaseSequencer, type TestSpecification } from "vitest/node";

export class FixedOrder extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const sized = files.map((file) => ({ file, size: statSync(file.moduleId).size }));
    sized.sort((a, b) => b.size - a.size || (a.file.moduleId < b.file.moduleId ? -1 : 1));
    return sized.map(({ file }) => file);
  }
}
