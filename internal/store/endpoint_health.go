package store

import (
	"cmp"
	"context"
	"slices"
	"strings"
	"time"

	"github.com/assayhq/assay/internal/domain/access"
	"github.com/assayhq/assay/internal/domain/webhook"
)

const microsPerHour = int64(time.Hour / time.Microsecond)

// hourCount is how the attempts on an endpoint went in an hour.
type hourCount struct {
	endpointID           string
	hour                 int64
	acknowledged, failed int64
}

// countAttempts counts attempts by endpoint and hour, in the order of the rows: senders then wait for each other
// instead of locking each other out.
func (t *Tx) countAttempts(attempts []*AttemptResult) error {
	var counts []*hourCount
	byHour := make(map[hourCount]*hourCount)
	for _, a := range attempts {
		at := hourCount{endpointID: a.EndpointID, hour: micros(a.At) / microsPerHour}
		c := byHour[at]
		if c == nil {
			counted := at
			c = &counted
			byHour[at], counts = c, append(counts, c)
		}
		if a.Acknowledged() {
			c.acknowledged++
		} else {
			c.failed++
		}
	}
	slices.SortFunc(counts, func(a, b *hourCount) int {
		return cmp.Or(strings.Compare(a.endpointID, b.endpointID), cmp.Compare(a.hour, b.hour))
	})
	return inBatches(counts, func(batch []*hourCount) error {
		args := make([]any, 0, 4*len(batch))
		for _, c := range batch {
			args = append(args, c.endpointID, c.hour, c.acknowledged, c.failed)
		}
		_, err := t.exec("INSERT INTO endpoint_hours (endpoint_id, hour, acknowledged, failed) VALUES "+
			tuples(len(batch), 4)+`
			ON CONFLICT (endpoint_id, hour) DO UPDATE SET acknowledged = endpoint_hours.acknowledged + excluded.acknowledged,
			failed = endpoint_hours.failed + excluded.failed`, args...)
		return err
	})
}

// EndpointHealth returns how the attempts on the endpoints of an account went in the last 24 hours and 7 days, in whole
// hours, as far as there were any.
func (q Queries) EndpointHealth(
	ctx context.Context, accountID string, env access.Environment, now time.Time,
) ([]webhook.EndpointHealth, error) {
	hour := micros(now)/microsPerHour + 1
	var health []webhook.EndpointHealth
	err := q.rows(ctx, `SELECT e.id, CAST(SUM(CASE WHEN h.hour >= $4 THEN h.acknowledged ELSE 0 END) AS BIGINT),
		CAST(SUM(CASE WHEN h.hour >= $4 THEN h.failed ELSE 0 END) AS BIGINT),
		CAST(SUM(h.acknowledged) AS BIGINT), CAST(SUM(h.failed) AS BIGINT),
		MAX(CASE WHEN h.acknowledged > 0 THEN h.hour ELSE 0 END), MAX(CASE WHEN h.failed > 0 THEN h.hour ELSE 0 END)
		FROM webhook_endpoints e JOIN endpoint_hours h ON h.endpoint_id = e.id
		WHERE e.account_id = $1 AND e.environment = $2 AND h.hour >= $3 GROUP BY e.id`,
		[]any{accountID, string(env), hour - 7*24, hour - 24}, func(scan func(...any) error) error {
			var h webhook.EndpointHealth
			var acknowledged, failed int64
			err := scan(
				&h.EndpointID, &h.Day.Acknowledged, &h.Day.Failed, &h.Week.Acknowledged, &h.Week.Failed, &acknowledged, &failed,
			)
			h.LastAcknowledged, h.LastFailed = hourOrZero(acknowledged), hourOrZero(failed)
			health = append(health, h)
			return err
		})
	return health, err
}

func hourOrZero(hour int64) time.Time {
	if hour == 0 {
		return time.Time{}
	}
	return timeOf(hour * microsPerHour)
}

// DeleteOldEndpointHours removes the counts from before a time.
func (t *Tx) DeleteOldEndpointHours(before time.Time) error {
	_, err := t.exec("DELETE FROM endpoint_hours WHERE hour < $1", micros(before)/microsPerHour)
	return err
}
