// vitest's reporter, which also prints each failure when it comes, and the summary when the run is interrupted.
import { DefaultReporter, type TestCase, type Vitest } from "vitest/node";

export default class PromptReporter extends DefaultReporter {
  override onInit(vitest: Vitest): void {
    super.onInit(vitest);
    // Before the listeners that end the process.
    for (const signal of ["SIGINT", "SIGTERM"] as const) {
      process.prependOnceListener(signal, () => this.onTestRunEnd(vitest.state.getTestModules(), [], "interrupted"));
    }
  }

  override onTestCaseResult(test: TestCase): void {
    super.onTestCaseResult(test);
    for (const { message } of test.result().errors ?? []) {
      this.log(`FAIL ${test.module.relativeModuleId} > ${test.fullName}\n     ${message.split("\n")[0]}`);
    }
  }
}
