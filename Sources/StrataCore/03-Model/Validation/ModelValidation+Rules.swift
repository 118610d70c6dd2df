extension ModelValidation {
  /// The most rules of one property.
  private static let mostRules = 100

  /// Everything that compiling and keeping a property's rules relies on.
  mutating func checkRules(of property: PropertyDescription, _ place: String) {
    if property.validationRules.count > Self.mostRules {
      report("Property \(place) has more than \(Self.mostRules) rules.")
      return
    }
    var tests: [CompiledRule.Test] = []
    for rule in property.validationRules {
      do { tests.append(try CompiledRule(rule, of: property).test) } catch {
        for sentence in error.sentences { report(sentence) }
      }
    }
    checkContradictions(among: tests, place)
  }

  /// Bounds between which there is nothing.
  private mutating func checkContradictions(among tests: [CompiledRule.Test], _ place: String) {
    for low in tests {
      for high in tests {
        switch (low, high) {
        case (.minimum(let least), .maximum(let most)) where AttributeValue.compare(least, most) > 0:
          report("No value of \(place) meets its rules: minimum \(least), maximum \(most).")
        case (.minimumLength(let least), .maximumLength(let most)) where least > most:
          report("No value of \(place) meets its rules: minimum length \(least), maximum length \(most).")
        default: break
        }
      }
    }
  }

  /// The keys that the entity's class validates.
  mutating func checkValidatedKeys(of entity: EntityDescription, _ type: any ValueChecking.Type) {
    let properties = entity.propertiesByName
    for key in type.validatedKeys where properties[key] == nil {
      report("Class \(type) validates \(key), which entity \(entity.name ?? "") does not have.")
    }
  }
}
