package store

import "github.com/assayhq/assay/internal/domain/webhook"

// InsertDelivery puts a delivery into the outbox, due at once.
func (t *Tx) InsertDelivery(d *webhook.Delivery, e *webhook.Endpoint) error {
	_, err := t.exec(`INSERT INTO deliveries (id, endpoint_id, account_id, environment, order_id, event, body, status, due_at, created_at)
		VALUES ($1, $2, $3, $4, $5, $6, $7, 'pending', $8, $8)`,
		d.ID, e.ID, e.AccountID, e.Environment, textOrNull(d.OrderID), string(d.Event), string(d.Body), micros(d.CreatedAt))
	return err
}

// DropPendingDeliveriesOfKey removes what is still to be sent to the endpoints of an API key.
func (t *Tx) DropPendingDeliveriesOfKey(keyID string) error {
	_, err := t.exec(`DELETE FROM deliveries WHERE status = 'pending' AND endpoint_id IN (
		SELECT id FROM webhook_endpoints WHERE api_key_id = $1)`, keyID)
	return err
}
