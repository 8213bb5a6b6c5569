// Package ui is what all HTML pages are built of: layout, components, messages in English and Japanese, assets, forms,
// errors, cookies and sessions. An audience (desk, portal, certificate) is an Area: its own templates, messages and
// static files, and handlers that return an error. README.md in the folder above shows how to add a page.
//
// What a page can rely on:
//   - every response carries a strict Content-Security-Policy: no inline script, no inline style, nothing from
//     elsewhere;
//   - every form is safe from other sites (http.CrossOriginProtection) and works without JavaScript;
//   - every text is a message with a key that exists in both languages, or the program does not start.
package ui
