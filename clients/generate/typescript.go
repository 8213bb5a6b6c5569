package main

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
)

const header = "Code generated from api/openapi.yaml by go generate ./clients/...; DO NOT EDIT."

func typescript(d *document) string {
	var out strings.Builder
	out.WriteString("// " + header + "\n")
	for _, s := range d.Schemas {
		out.WriteByte('\n')
		comment(&out, "", s.Schema)
		if !s.Schema.isObject() {
			fmt.Fprintf(&out, "export type %s = %s;\n", s.Name, tsType(s.Schema))
			continue
		}
		extends, fields := d.extends(s.Schema)
		fmt.Fprintf(&out, "export interface %s%s {\n", s.Name, extends)
		for _, f := range fields {
			comment(&out, "  ", f.Schema)
			optional := "?"
			if f.Required {
				optional = ""
			}
			fmt.Fprintf(&out, "  %s%s: %s;\n", f.Name, optional, tsType(f.Schema))
		}
		out.WriteString("}\n")
	}
	out.WriteString("\n/** Error codes of this version. More may follow: treat an unknown one by its status. */\n")
	out.WriteString("export type ErrorCode =\n")
	for _, code := range d.Codes {
		fmt.Fprintf(&out, "  | %q\n", code)
	}
	out.WriteString("  | (string & {});\n")
	return out.String()
}

// extends returns the clause with the interfaces that an object extends, and the fields that it adds or narrows.
func (d *document) extends(s *schema) (clause string, own []field) {
	own = d.fields(s)
	for _, part := range s.AllOf {
		if part.Ref == "" {
			continue
		}
		clause += ", " + refName(part.Ref)
		for _, inherited := range d.fields(part) {
			own = slices.DeleteFunc(own, func(f field) bool { return f.Name == inherited.Name && !s.declares(f.Name) })
		}
	}
	return strings.Replace(clause, ",", " extends", 1), own
}

func comment(out *strings.Builder, indent string, s *schema) {
	if text := s.summary(); text != "" {
		fmt.Fprintf(out, "%s/** %s */\n", indent, strings.ReplaceAll(text, "*/", "* /"))
	}
}

func tsType(s *schema) string {
	switch {
	case s.Ref != "":
		return refName(s.Ref)
	case len(s.OneOf) > 0:
		return join(s.OneOf, " | ", tsType)
	case s.values() != nil:
		return join(s.values(), " | ", tsLiteral)
	case len(s.Type) == 0:
		return "unknown"
	}
	return join(s.Type, " | ", func(name string) string { return tsNamed(name, s) })
}

func tsNamed(name string, s *schema) string {
	switch name {
	case "null", "string", "boolean":
		return name
	case "integer", "number":
		return "number"
	case "array":
		if item := tsType(s.Items); !strings.Contains(item, " ") {
			return item + "[]"
		}
		return "(" + tsType(s.Items) + ")[]"
	}
	if len(s.Properties) > 0 {
		return "{ " + join(s.Properties, "; ", func(p named) string {
			optional := "?"
			if slices.Contains(s.Required, p.Name) {
				optional = ""
			}
			return p.Name + optional + ": " + tsType(p.Schema)
		}) + " }"
	}
	return "Record<string, unknown>"
}

func tsLiteral(v any) string {
	if text, ok := v.(string); ok {
		return strconv.Quote(text)
	}
	if v == nil {
		return "null"
	}
	return fmt.Sprint(v)
}

// join joins the forms of the values, each once.
func join[T any](values []T, separator string, form func(T) string) string {
	var forms []string
	for _, v := range values {
		if f := form(v); !slices.Contains(forms, f) {
			forms = append(forms, f)
		}
	}
	return strings.Join(forms, separator)
}
