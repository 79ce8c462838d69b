ALTER TABLE `attestations` ADD `signed` integer DEFAULT false NOT NULL;--> statement-breakpoint
ALTER TABLE `principals` ADD `attestation_signed` integer DEFAULT false NOT NULL;--> statement-breakpoint
UPDATE `attestations` SET `signed` = 1 WHERE `proof` IS NOT NULL AND EXISTS (SELECT 1 FROM `verifiers` v WHERE v.`verifier_id` = `attestations`.`verifier_id`);--> statement-breakpoint
UPDATE `principals` SET `attestation_signed` = 1 WHERE EXISTS (SELECT 1 FROM `attestations` a WHERE a.`verifier_id` = `principals`.`attestation_verifier_id` AND a.`attestation_id` = `principals`.`attestation_id` AND a.`principal_id` = `principals`.`principal_id` AND a.`signed` = 1);
