// Routes of customers (PRN-23).
import { defineRoute } from "../http/route.ts";
import { createCustomer } from "./create.ts";
import { deleteCustomer } from "./delete.ts";
import { patchCustomer } from "./patch.ts";
import { getCustomer, getCustomers, precheckCustomer } from "./read.ts";
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
    handle: (call, { params }) => getCustomer(call, params.customer_id),
    precheck: (call, { params }) => precheckCustomer(call, params.customer_id),
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
    handle: (call, { params, body }) => patchCustomer(call, params.customer_id, body),
    precheck: (call, { params }) => precheckCustomer(call, params.customer_id),
  }),
  defineRoute({
    method: "delete",
    path: "/v1/customers/{customer_id}",
    operationId: "deleteCustomer",
    surfaces: ["management"],
    params: customerParams,
    status: 204,
    errors: ["not_found", "customer_not_empty"],
    handle: (call, { params }) => deleteCustomer(call, params.customer_id),
    precheck: (call, { params }) => precheckCustomer(call, params.customer_id),
  }),
];
