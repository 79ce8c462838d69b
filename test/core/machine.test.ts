// A machine permits the moves of its table; a pair that the table does not name is 409 invalid_status (AGT-13).
import { describe, expect, it } from "vitest";
import { ServiceError } from "../../src/core/errors.ts";
import { defineMachine, listStatesMovedBy, move, refuse, tryMove } from "../../src/core/machine.ts";

const lamp = defineMachine({
  name: "lamp",
  states: ["off", "on", "broken"],
  triggers: ["press", "smash"],
  table: { off: { press: "on", smash: "broken" }, on: { press: "off", smash: refuse("forbidden") } },
});

describe("a machine", () => {
  it("moves from a state to the state that the table names", () => {
    expect(move(lamp, "off", "press")).toEqual({ from: "off", to: "on" });
    expect(tryMove(lamp, "on", "press")).toEqual({ ok: true, move: { from: "on", to: "off" } });
  });

  it("refuses a pair with the code that the table names", () => {
    expect(tryMove(lamp, "on", "smash")).toEqual({ ok: false, code: "forbidden" });
  });

  it("refuses a pair that the table does not name with invalid_status and the state in detail", () => {
    expect(tryMove(lamp, "broken", "press")).toEqual({ ok: false, code: "invalid_status" });
    const thrown = (() => {
      try {
        return move(lamp, "broken", "press");
      } catch (error) {
        return error;
      }
    })();
    expect(thrown).toBeInstanceOf(ServiceError);
    expect(thrown).toMatchObject({ code: "invalid_status", status: 409, extra: { detail: { status: "broken" } } });
  });

  it("names the states that a trigger moves from, without those that refuse it", () => {
    expect(listStatesMovedBy(lamp, "press")).toEqual(["off", "on"]);
    expect(listStatesMovedBy(lamp, "smash")).toEqual(["off"]);
  });
});
