package main

import (
	"fmt"
	"strconv"
	"strings"
)

func python(d *document) string {
	var out strings.Builder
	out.WriteString("# " + header + "\n")
	out.WriteString(`"""Types of requests and answers, as the service's OpenAPI document gives them."""` + "\n\n")
	out.WriteString("from __future__ import annotations\n\n")
	out.WriteString("from typing import Any, Dict, List, Literal, TypedDict, Union\n\n")
	for _, s := range d.pythonOrder() {
		if !s.Schema.isObject() {
			fmt.Fprintf(&out, "%s = %s\n", s.Name, pyType(s.Schema))
			if text := s.Schema.summary(); text != "" {
				fmt.Fprintf(&out, "%s\n", pyDoc(text))
			}
			out.WriteByte('\n')
			continue
		}
		d.pythonClass(&out, s)
	}
	out.WriteString("\nErrorCode = Literal[\n")
	for _, code := range d.Codes {
		fmt.Fprintf(&out, "    %q,\n", code)
	}
	out.WriteString("]\n")
	out.WriteString(pyDoc("Error codes of this version. More may follow: treat an unknown one by its status.") + "\n")
	return out.String()
}

// pythonOrder puts aliases behind what they name: unlike annotations, they are evaluated where they stand.
func (d *document) pythonOrder() []named {
	var objects, aliases, unions []named
	for _, s := range d.Schemas {
		switch {
		case s.Schema.isObject():
			objects = append(objects, s)
		case len(s.Schema.OneOf) > 0:
			unions = append(unions, s)
		default:
			aliases = append(aliases, s)
		}
	}
	return append(append(aliases, objects...), unions...)
}

func (d *document) pythonClass(out *strings.Builder, s named) {
	var required, optional []field
	for _, f := range d.fields(s.Schema) {
		if f.Required {
			required = append(required, f)
		} else {
			optional = append(optional, f)
		}
	}
	base, total := "TypedDict", ""
	if len(required) > 0 && len(optional) > 0 {
		base, total = "_"+s.Name, ", total=False"
		fmt.Fprintf(out, "\nclass %s(TypedDict):\n", base)
		pyFields(out, required)
		out.WriteByte('\n')
		required = nil
	} else if len(required) == 0 {
		total = ", total=False"
	}
	fmt.Fprintf(out, "\nclass %s(%s%s):\n", s.Name, base, total)
	if text := s.Schema.summary(); text != "" {
		fmt.Fprintf(out, "    %s\n\n", pyDoc(text))
	}
	pyFields(out, append(required, optional...))
	out.WriteByte('\n')
}

func pyFields(out *strings.Builder, fields []field) {
	for _, f := range fields {
		fmt.Fprintf(out, "    %s: %s\n", f.Name, pyType(f.Schema))
		if text := f.Schema.summary(); text != "" {
			fmt.Fprintf(out, "    %s\n", pyDoc(text))
		}
	}
}

func pyDoc(text string) string {
	return `"""` + strings.ReplaceAll(strings.ReplaceAll(text, `\`, `\\`), `"""`, `'''`) + `"""`
}

func pyType(s *schema) string {
	switch {
	case s.Ref != "":
		return refName(s.Ref)
	case len(s.OneOf) > 0:
		return pyUnion(join(s.OneOf, ", ", pyType))
	case s.values() != nil:
		return "Literal[" + join(s.values(), ", ", pyLiteral) + "]"
	case len(s.Type) == 0:
		return "Any"
	}
	return pyUnion(join(s.Type, ", ", func(name string) string { return pyNamed(name, s) }))
}

func pyUnion(list string) string {
	if strings.Contains(list, ", ") && !strings.HasPrefix(list, "Dict[") {
		return "Union[" + list + "]"
	}
	return list
}

func pyNamed(name string, s *schema) string {
	switch name {
	case "null":
		return "None"
	case "string":
		return "str"
	case "boolean":
		return "bool"
	case "integer":
		return "int"
	case "number":
		return "float"
	case "array":
		return "List[" + pyType(s.Items) + "]"
	}
	return "Dict[str, Any]"
}

func pyLiteral(v any) string {
	switch v := v.(type) {
	case nil:
		return "None"
	case string:
		return strconv.Quote(v)
	case bool:
		if v {
			return "True"
		}
		return "False"
	}
	return fmt.Sprint(v)
}
