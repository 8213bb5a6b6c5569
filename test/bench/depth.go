package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"strconv"
	"time"

	"github.com/assayhq/assay/internal/domain/access"
	"github.com/assayhq/assay/internal/domain/order"
	"github.com/assayhq/assay/internal/domain/text"
	"github.com/assayhq/assay/internal/store"
)

const (
	fewOrders  = 1_000
	manyOrders = 200_000
	seedBatch  = 1_000
	details    = 1_000 // ids that a load goes through

	seedVariable = "ASSAY_BENCH_SEED"
)

// seed says what orders to make behind the program's back.
type seed struct {
	Target, AccountID, KeyID string
	Orders                   int
}

// seedOrders is the role that fills a database as fast as it goes, through the same statements as the program.
func seedOrders(ctx context.Context) (err error) {
	var s seed
	if err := json.Unmarshal([]byte(os.Getenv(seedVariable)), &s); err != nil {
		return err
	}
	db, err := store.Open(ctx, s.Target)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, db.Close()) }()
	for made := 0; made < s.Orders; made += seedBatch {
		if err := db.Update(ctx, func(tx *store.Tx) error { return s.batch(tx) }); err != nil {
			return err
		}
	}
	return nil
}

func (s *seed) batch(tx *store.Tx) (err error) {
	name := text.Text{EN: "Classic Flap"}
	for range seedBatch {
		now := time.Now().UTC().Truncate(time.Microsecond)
		o := &order.Order{
			ID: store.NewID(), AccountID: s.AccountID, Environment: access.Live, APIKeyID: s.KeyID, Status: order.Completed, Outcome: order.UnableToVerify,
			AnswerTime: 1440, Price: 1, CreatedAt: now, UpdatedAt: now, EndedAt: &now,
			Facts: order.Facts{Classification: order.Classification{
				CategoryCode: "bags", CategoryName: text.Text{EN: "Bags"}, BrandCode: "chanel", BrandName: text.Text{EN: "Chanel"}, ModelName: &name,
			}},
		}
		if o.Seq, err = tx.ChargeForOrder(o.AccountID, o.Environment, o.ID, o.Price, now); err != nil {
			return err
		}
		if err := tx.InsertOrder(o); err != nil {
			return err
		}
	}
	return nil
}

// depth shows that lists cost the same at any depth, and details the same among few and many orders.
func (s *suite) depth(ctx context.Context, e engine) (err error) {
	lastPage := fmt.Sprintf("depth: last page of %d %s", manyOrders, e)
	manyDetail := fmt.Sprintf("depth: detail of %d %s", manyOrders, e)
	if !s.wanted(lastPage) && !s.wanted(manyDetail) {
		return nil
	}
	few, err := s.seeded(ctx, e, fewOrders)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, few.close()) }()
	many, err := s.seeded(ctx, e, manyOrders)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, many.close()) }()

	if err := s.compare(ctx, lastPage, "the first page", many.pages(manyOrders/pageLimit), many.pages(1)); err != nil {
		return err
	}
	manyDetails, err := many.details(ctx)
	if err != nil {
		return err
	}
	fewDetails, err := few.details(ctx)
	if err != nil {
		return err
	}
	return s.compare(ctx, manyDetail, fmt.Sprintf("%d orders", fewOrders), manyDetails, fewDetails)
}

// shop is a running installation with orders.
type shop struct {
	*installation
	server *server
	orders int
}

func (s *suite) seeded(ctx context.Context, e engine, orders int) (*shop, error) {
	i, err := s.install(ctx, e)
	if err != nil {
		return nil, err
	}
	if err := i.seed(ctx, orders); err != nil {
		return nil, errors.Join(err, i.remove())
	}
	running, err := i.start(ctx)
	if err != nil {
		return nil, errors.Join(err, i.remove())
	}
	return &shop{i, running, orders}, nil
}

func (s *shop) close() error { return errors.Join(s.server.stop(), s.remove()) }

func (i *installation) seed(ctx context.Context, orders int) error {
	self, err := os.Executable()
	if err != nil {
		return err
	}
	wish, err := json.Marshal(seed{Target: i.target(), AccountID: i.account.ID, KeyID: i.key.ID, Orders: orders})
	if err != nil {
		return err
	}
	cmd := exec.CommandContext(ctx, self)
	cmd.Env = append(os.Environ(), roleVariable+"=seed", seedVariable+"="+string(wish))
	if output, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("seed: %w\n%s", err, output)
	}
	return nil
}

// pages is a load of one page of the list.
func (s *shop) pages(page int) *target {
	path := fmt.Sprintf("%s/orders?page=%d&limit=%d", prefix, page, pageLimit)
	return newTarget(s.server, http.MethodGet, []string{path}, s.header(), nil, http.StatusOK)
}

// details is a load of order details from all over the list.
func (s *shop) details(ctx context.Context) (*target, error) {
	const limit = 50
	var paths []string
	pages := s.orders / limit
	step := max(1, pages*limit/details)
	for page := 1; page <= pages; page += step {
		answer, err := exchange(ctx, http.MethodGet, "http://"+s.server.http+prefix+"/orders?limit="+strconv.Itoa(limit)+"&page="+strconv.Itoa(page),
			s.header(), nil, http.StatusOK)
		if err != nil {
			return nil, err
		}
		var list struct{ Data []struct{ ID string } }
		if err := json.Unmarshal(answer, &list); err != nil {
			return nil, err
		}
		for _, item := range list.Data {
			paths = append(paths, prefix+"/orders/"+item.ID)
		}
	}
	return newTarget(s.server, http.MethodGet, paths, s.header(), nil, http.StatusOK), nil
}
