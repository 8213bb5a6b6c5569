// Command peer is PocketBase with one collection of orders, for the comparison in test/bench. It is a module of its
// own, so that the program does not depend on it.
package main

import (
	"errors"
	"fmt"
	"log"
	"os"

	"github.com/pocketbase/pocketbase"
	"github.com/pocketbase/pocketbase/core"
	"github.com/pocketbase/pocketbase/tools/types"
)

// main serves on the address in the first argument with the data folder in the second. All settings are PocketBase's
// defaults, synchronous=NORMAL among them.
func main() {
	if err := run(os.Args[1:]); err != nil {
		log.Fatal(err)
	}
}

func run(args []string) error {
	if len(args) != 2 {
		return errors.New("usage: peer ADDRESS FOLDER")
	}
	os.Args = []string{os.Args[0], "serve", "--http=" + args[0]} // PocketBase looks at them itself
	app := pocketbase.NewWithConfig(pocketbase.Config{DefaultDataDir: args[1], HideStartBanner: true})
	app.OnServe().BindFunc(func(e *core.ServeEvent) error {
		e.InstallerFunc = nil // which would open a browser
		if _, err := e.App.FindCollectionByNameOrId("orders"); err != nil {
			if err := e.App.Save(orders()); err != nil {
				return err
			}
		}
		fmt.Fprintf(os.Stderr, "listening http=%s tls=- ops=-\n", args[0])
		return e.Next()
	})
	return app.Start()
}

// orders returns the collection: thirteen fields, anybody may create and view.
func orders() *core.Collection {
	c := core.NewBaseCollection("orders")
	for _, name := range []string{
		"account", "environment", "number", "external_id", "status", "category_code", "brand_code", "model_code",
	} {
		c.Fields.Add(&core.TextField{Name: name})
	}
	c.Fields.Add(
		&core.NumberField{Name: "answer_time"}, &core.NumberField{Name: "price"}, &core.JSONField{Name: "photos"},
		&core.AutodateField{Name: "created", OnCreate: true},
		&core.AutodateField{Name: "updated", OnCreate: true, OnUpdate: true},
	)
	c.ViewRule, c.CreateRule = types.Pointer(""), types.Pointer("")
	c.AddIndex("orders_external_id", true, "external_id", "")
	c.AddIndex("orders_created", false, "created", "")
	return c
}
