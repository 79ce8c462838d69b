// Before each file: properties draw their values from one seed.
import fc from "fast-check";

fc.configureGlobal({ seed: 20_270_301 });
