CREATE TABLE `verifiers` (
	`verifier_id` text PRIMARY KEY NOT NULL,
	`name` text NOT NULL,
	`jwks` text NOT NULL,
	`status` text NOT NULL,
	`created_at` integer NOT NULL,
	`updated_at` integer NOT NULL
) WITHOUT ROWID;
