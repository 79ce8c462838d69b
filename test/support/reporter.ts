// vitest's reporter, which also prints each failure at once, and the summary if the run is interrupted.
import { DefaultReporter, type TestCase, type TestModule, type TestSpecification, type Vitest } from "vitest/node";
import { CalledStores } from "./issued.ts";

export default class PromptReporter extends DefaultReporter {
  #files = 0;
  readonly #stores = new CalledStores();
  #vitest: Vitest | undefined;

  override onInit(vitest: Vitest): void {
    super.onInit(vitest);
    this.#vitest = vitest;
    // Runs before the listeners that end the process.
    for (const signal of ["SIGINT", "SIGTERM"] as const) {
      process.prependOnceListener(signal, () => this.#interrupt(vitest));
    }
  }

  override onTestRunStart(specifications: readonly TestSpecification[]): void {
    super.onTestRunStart(specifications);
    this.#files = specifications.length;
  }

  override onTestCaseResult(test: TestCase): void {
    super.onTestCaseResult(test);
    this.#print(`${test.module.relativeModuleId} > ${test.fullName}`, test.result().errors);
  }

  /** Prints failures outside of test cases: imports and hooks. */
  override onTestModuleEnd(module: TestModule): void {
    super.onTestModuleEnd(module);
    this.#stores.add(module);
    this.#print(module.relativeModuleId, module.errors());
    for (const suite of module.children.allSuites())
      this.#print(`${module.relativeModuleId} > ${suite.fullName}`, suite.errors());
  }

  /** Fails the run for uncalled store functions: without a test that calls it, a statement may be wrong or read a whole table. */
  override async onTestRunEnd(...ended: Parameters<DefaultReporter["onTestRunEnd"]>): Promise<void> {
    super.onTestRunEnd(...ended);
    const [, , reason] = ended;
    if (reason !== "passed" || !(await this.#isWhole())) return;
    const uncalled = this.#stores.uncalled();
    if (uncalled.length === 0) return;
    this.log(`no test calls these functions of stores:\n${uncalled.join("\n")}`);
    process.exitCode = 1;
  }

  async #isWhole(): Promise<boolean> {
    const all = (await this.#vitest?.globTestSpecifications()) ?? [];
    return this.#files === all.length && this.#vitest?.config.testNamePattern === undefined;
  }

  #interrupt(vitest: Vitest): void {
    const modules = vitest.state.getTestModules();
    const ran = modules.filter((module) => ["passed", "failed", "skipped"].includes(module.state())).length;
    void this.onTestRunEnd(modules, [], "interrupted");
    this.log(`INTERRUPTED: ${ran} of ${this.#files} files have run`);
  }

  #print(name: string, errors: readonly { readonly message: string }[] = []): void {
    for (const { message } of errors) this.log(`FAIL ${name}\n     ${message.split("\n")[0]}`);
  }
}
