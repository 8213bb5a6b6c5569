package main

import (
	"errors"
	"fmt"

	appsv1 "k8s.io/api/apps/v1"
	autoscalingv2 "k8s.io/api/autoscaling/v2"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	policyv1 "k8s.io/api/policy/v1"
	"sigs.k8s.io/kustomize/api/krusty"
	"sigs.k8s.io/kustomize/kyaml/filesys"
	"sigs.k8s.io/yaml"
)

// kubernetes builds a folder with Kustomize and reads every object strictly as its type, then looks for references
// that lead nowhere.
func kubernetes(folder string) ([]any, error) {
	resources, err := krusty.MakeKustomizer(krusty.MakeDefaultOptions()).Run(filesys.MakeFsOnDisk(), folder)
	if err != nil {
		return nil, err
	}
	var objects []any
	var problems []error
	for _, r := range resources.Resources() {
		text, err := r.AsYAML()
		if err != nil {
			return nil, err
		}
		name := r.GetKind() + " " + r.GetName()
		object, ok := newObject(r.GetApiVersion(), r.GetKind())
		if !ok {
			problems = append(problems, fmt.Errorf("%s: %s is not known here", name, r.GetApiVersion()))
			continue
		}
		if err := yaml.UnmarshalStrict(text, object); err != nil {
			problems = append(problems, fmt.Errorf("%s: %w", name, err))
		}
		objects = append(objects, object)
	}
	return objects, errors.Join(append(problems, references(objects)...)...)
}

func newObject(version, kind string) (any, bool) {
	objects := map[string]any{
		"v1 Namespace": new(corev1.Namespace), "v1 ServiceAccount": new(corev1.ServiceAccount),
		"v1 ConfigMap": new(corev1.ConfigMap), "v1 Service": new(corev1.Service),
		"apps/v1 Deployment":                     new(appsv1.Deployment),
		"policy/v1 PodDisruptionBudget":          new(policyv1.PodDisruptionBudget),
		"autoscaling/v2 HorizontalPodAutoscaler": new(autoscalingv2.HorizontalPodAutoscaler),
		"networking.k8s.io/v1 Ingress":           new(networkingv1.Ingress),
		"networking.k8s.io/v1 NetworkPolicy":     new(networkingv1.NetworkPolicy),
	}
	object, ok := objects[version+" "+kind]
	return object, ok
}

// references checks what the API server would take and what then does not work: a selector without pods, a port that no
// container has, a settings map or a Deployment that is not there.
func references(objects []any) (problems []error) {
	deployments := map[string]*appsv1.Deployment{}
	known := map[string]bool{}
	for _, o := range objects {
		switch o := o.(type) {
		case *appsv1.Deployment:
			deployments[o.Name] = o
		case *corev1.ConfigMap:
			known["ConfigMap "+o.Name] = true
		case *corev1.Service:
			known["Service "+o.Name] = true
		}
	}
	refuse := func(format string, args ...any) { problems = append(problems, fmt.Errorf(format, args...)) }
	selected := func(what string, labels map[string]string) *appsv1.Deployment {
		for _, d := range deployments {
			if matches(labels, d.Spec.Template.Labels) {
				return d
			}
		}
		refuse("%s selects nothing", what)
		return nil
	}
	for _, o := range objects {
		switch o := o.(type) {
		case *appsv1.Deployment:
			if !matches(o.Spec.Selector.MatchLabels, o.Spec.Template.Labels) {
				refuse("Deployment %s does not select its own pods", o.Name)
			}
			for _, c := range o.Spec.Template.Spec.Containers {
				for _, from := range c.EnvFrom {
					if from.ConfigMapRef != nil && !known["ConfigMap "+from.ConfigMapRef.Name] {
						refuse("Deployment %s: there is no ConfigMap %s", o.Name, from.ConfigMapRef.Name)
					}
				}
				for _, p := range []*corev1.Probe{c.StartupProbe, c.LivenessProbe, c.ReadinessProbe} {
					if p == nil || !hasPort(o, p.HTTPGet.Port.StrVal) {
						refuse("Deployment %s: a probe is missing or asks a port that is not there", o.Name)
					}
				}
			}
		case *corev1.Service:
			if d := selected("Service "+o.Name, o.Spec.Selector); d != nil {
				for _, p := range o.Spec.Ports {
					if !hasPort(d, p.TargetPort.StrVal) {
						refuse("Service %s: no container has the port %s", o.Name, p.TargetPort.StrVal)
					}
				}
			}
		case *policyv1.PodDisruptionBudget:
			selected("PodDisruptionBudget "+o.Name, o.Spec.Selector.MatchLabels)
		case *autoscalingv2.HorizontalPodAutoscaler:
			if deployments[o.Spec.ScaleTargetRef.Name] == nil {
				refuse("HorizontalPodAutoscaler %s: there is no Deployment %s", o.Name, o.Spec.ScaleTargetRef.Name)
			}
		case *networkingv1.Ingress:
			for _, rule := range o.Spec.Rules {
				for _, path := range rule.HTTP.Paths {
					if !known["Service "+path.Backend.Service.Name] {
						refuse("Ingress %s: there is no Service %s", o.Name, path.Backend.Service.Name)
					}
				}
			}
		}
	}
	return problems
}

func matches(selector, labels map[string]string) bool {
	for key, value := range selector {
		if labels[key] != value {
			return false
		}
	}
	return len(selector) > 0
}

func hasPort(d *appsv1.Deployment, name string) bool {
	for _, c := range d.Spec.Template.Spec.Containers {
		for _, p := range c.Ports {
			if p.Name == name {
				return true
			}
		}
	}
	return false
}
