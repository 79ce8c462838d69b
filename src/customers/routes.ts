// Routes of customers (PRN-23).
import { defineRoute } from "../http/route.ts";
import { createCustomer } from "./create.ts";
import { deleteCustomer } from "./delete.ts";
import { patchCustomer } from "./patch.ts";
import { findNamedCustomer, getCustomer, getCustomers } from "./read.ts";
import { customerInput, customerParams, customerPatch, customerPatchRules, customerQuery } from "./schema.ts";

export const customerRoutes = [
  defineRoute({
    method: "post",
    path: "/v1/customers",
    operationId: "createCustomer",
    surfaces: ["management"],
    body: customerInput,
    status: 201,
    errors: ["external_ref_exists"],
    idempotency: "plain",
    handle: (call, { body }) => createCustomer(call, body),
  }),
  defineRoute({
    method: "get",
    path: "/v1/customers",
    operationId: "listCustomers",
    surfaces: ["management"],
    query: customerQuery,
    status: 200,
    errors: [],
    handle: (call, { query }) => getCustomers(call, query),
  }),
  defineRoute({
    method: "get",
    path: "/v1/customers/{customer_id}",
    operationId: "getCustomer",
    surfaces: ["management"],
    params: customerParams,
    status: 200,
    errors: ["not_found"],
    object: findNamedCustomer,
    handle: getCustomer,
  }),
  defineRoute({
    method: "patch",
    path: "/v1/customers/{customer_id}",
    operationId: "patchCustomer",
    surfaces: ["management"],
    params: customerParams,
    body: customerPatch,
    rules: customerPatchRules,
    status: 200,
    errors: ["not_found", "no_changes_requested", "external_ref_exists"],
    fieldErrors: ["invalid_field"],
    object: findNamedCustomer,
    handle: (call, { body }) => patchCustomer(call, body),
  }),
  defineRoute({
    method: "delete",
    path: "/v1/customers/{customer_id}",
    operationId: "deleteCustomer",
    surfaces: ["management"],
    params: customerParams,
    status: 204,
    errors: ["not_found", "customer_not_empty"],
    object: findNamedCustomer,
    handle: deleteCustomer,
  }),
];
