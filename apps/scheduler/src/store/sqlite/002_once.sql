-- What did a change, where that must not be done twice.
ALTER TABLE audit ADD COLUMN task TEXT;
CREATE INDEX audit_by_task ON audit (family, task) WHERE task IS NOT NULL;
