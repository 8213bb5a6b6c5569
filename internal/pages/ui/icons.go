package ui

import (
	"fmt"
	"html/template"
)

// icons are drawn in a square of 24, as strokes of the text's colour.
var icons = map[string]string{
	"alert":   `<path d="M12 4 2.8 19.5h18.4L12 4Z"/><path d="M12 10v4.5M12 17v.1"/>`,
	"archive": `<path d="M3.5 5h17v4h-17zM5 9v10h14V9M9.5 13h5"/>`,
	"bell":    `<path d="M6 10a6 6 0 0 1 12 0c0 5 2 6 2 6.5H4c0-.5 2-1.5 2-6.5ZM10 19.5a2 2 0 0 0 4 0"/>`,
	"bolt":    `<path d="M13 3 5 13.5h6L10.5 21 19 10.5h-6L13 3Z"/>`,
	"book":    `<path d="M5 4.5h11a3 3 0 0 1 3 3v12H8a3 3 0 0 1-3-3v-12ZM5 16.5a3 3 0 0 1 3-3h11"/>`,
	"box":     `<path d="m12 3 8 4.5v9L12 21l-8-4.5v-9L12 3ZM4 7.5l8 4.5 8-4.5M12 12v9"/>`,
	"camera":  `<path d="M4 8h3.5L9 5.5h6L16.5 8H20v11H4V8Z"/><circle cx="12" cy="13" r="3.5"/>`,
	"chart":   `<path d="M4 20h16M7 16v-4M12 16V6M17 16V9"/>`,
	"check":   `<path d="m5 12.5 4.5 4.5L19 7.5"/>`,
	"chevron": `<path d="m9 5 7 7-7 7"/>`,
	"clock":   `<circle cx="12" cy="12" r="8.5"/><path d="M12 7v5l3.5 2"/>`,
	"coins": `<ellipse cx="12" cy="6.5" rx="7" ry="3"/><path d="M5 6.5v5.5c0 1.700 3.100 3 7 3s7-1.300 7-3V6.5M5 ` +
		`12v5.5c0 1.700 3.100 3 7 3s7-1.300 7-3V12"/>`,
	"copy":     `<path d="M9 9h11v11H9zM15 9V4H4v11h5"/>`,
	"cross":    `<path d="m6 6 12 12M18 6 6 18"/>`,
	"document": `<path d="M6 3.5h8l4.5 4.5v12.5H6v-17ZM13.5 3.5V8.5h5M9 13h6M9 16.5h6"/>`,
	"download": `<path d="M12 4v11M7 10.5l5 5 5-5M5 20h14"/>`,
	"eye": `<path d="M2.5 12S6 5.5 12 5.5 21.5 12 21.5 12 18 18.5 12 18.5 2.5 12 2.5 12Z"/><circle cx="12" cy="12" ` +
		`r="3"/>`,
	"filter": `<path d="M4 5h16l-6.5 8v6l-3-1.5V13L4 5Z"/>`,
	"flask": `<path d="M9.5 3.5h5M10.5 3.5v6L5 19a1.200 1.200 0 0 0 1 2h12a1.200 1.200 0 0 0 1-2l-5.5-9.5v-6M7.5 ` +
		`15h9"/>`,
	"home": `<path d="M4 11.5 12 4.5l8 7M6 10v9.5h4.5V14h3v5.5H18V10"/>`,
	"hook": `<circle cx="7" cy="16.5" r="3.5"/><circle cx="17" cy="16.5" r="3.5"/><circle cx="12" cy="7" ` +
		`r="3.5"/><path d="M10.5 10 8.5 13.5M13.5 10l2 3.5M10.5 16.5h3"/>`,
	"image": `<path d="M4 5h16v14H4z"/><circle cx="9" cy="10" r="1.5"/><path d="m4.5 18 5.5-5 3 2.5 3-2.5 4 3.5"/>`,
	"info":  `<circle cx="12" cy="12" r="8.5"/><path d="M12 11v5.5M12 7.5v.1"/>`,
	"key":   `<circle cx="8" cy="12" r="4"/><path d="M12 12h9M17.5 12v3.5M20.5 12v2.5"/>`,
	"link": `<path d="M10 14a4 4 0 0 0 5.700 0l3-3A4 4 0 0 0 13 5.300l-1 1M14 10a4 4 0 0 0-5.700 0l-3 3A4 4 0 0 0 11 ` +
		`18.700l1-1"/>`,
	"list":     `<path d="M9 6h11M9 12h11M9 18h11M4.5 6v.1M4.5 12v.1M4.5 18v.1"/>`,
	"lock":     `<path d="M5.5 11h13v9h-13zM8.5 11V8a3.5 3.5 0 0 1 7 0v3"/>`,
	"minus":    `<path d="M5 12h14"/>`,
	"moon":     `<path d="M19.5 14.5A8 8 0 0 1 9.5 4.5a8 8 0 1 0 10 10Z"/>`,
	"pause":    `<path d="M8 5v14M16 5v14"/>`,
	"plus":     `<path d="M12 5v14M5 12h14"/>`,
	"refresh":  `<path d="M19.5 9A8 8 0 0 0 5 8.5M4.5 4.5V9H9M4.5 15A8 8 0 0 0 19 15.5M19.5 19.5V15H15"/>`,
	"search":   `<circle cx="10.5" cy="10.5" r="6"/><path d="m15 15 5 5"/>`,
	"send":     `<path d="M20.5 3.5 3.5 10.5l7 3 3 7 7-17ZM10.5 13.5l10-10"/>`,
	"settings": `<path d="M4 7h9M17 7h3M4 17h3M11 17h9"/><circle cx="15" cy="7" r="2"/><circle cx="9" cy="17" r="2"/>`,
	"shield": `<path d="M12 3.5 5 6v5.5c0 4.5 3 7.5 7 9 4-1.5 7-4.5 7-9V6l-7-2.5Z"/><path d="m9 12 2.200 2.200L15.200 ` +
		`10"/>`,
	"sun": `<circle cx="12" cy="12" r="4"/><path d="M12 3v2M12 19v2M3 12h2M19 12h2M5.600 5.600 7 7M17 17l1.400 ` +
		`1.400M5.600 18.400 7 17M17 7l1.400-1.400"/>`,
	"trash":  `<path d="M4.5 7h15M9.5 7V4.5h5V7M6.5 7l1 13h9l1-13M10 11v5.5M14 11v5.5"/>`,
	"upload": `<path d="M12 16V5M7 9.5l5-5 5 5M5 20h14"/>`,
	"user":   `<circle cx="12" cy="8" r="4"/><path d="M4.5 20.5c.8-4 3.700-6 7.5-6s6.700 2 7.5 6"/>`,
	"users": `<circle cx="9" cy="8.5" r="3.5"/><path d="M2.5 19.5c.6-3.5 3.200-5.5 6.5-5.5s5.900 2 6.5 5.5M15.5 ` +
		`5.200a3.5 3.5 0 0 1 0 6.600M17.5 14.300c2.200.7 3.600 2.5 4 5.200"/>`,
}

// icon is a small drawing beside a word. It says nothing to a screen reader: the word does.
func icon(name string) (template.HTML, error) {
	shape, ok := icons[name]
	if !ok {
		return "", fmt.Errorf("there is no icon %q", name)
	}
	svg := `<svg class="icon" viewBox="0 0 24 24" aria-hidden="true" focusable="false">` + shape + `</svg>`
	return template.HTML(svg), nil //nolint:gosec // fixed
}
