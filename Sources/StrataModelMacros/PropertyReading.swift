import MacroSupport
import SwiftDiagnostics
import SwiftSyntax
import SwiftSyntaxMacros

/// One property of a class as the macro understands it.
struct ModelProperty {
  enum Kind {
    case attribute
    case transient
    case derived(expression: String)
    case fetched(request: String)
    case relationship(inverse: String?)
  }
  let declaration: VariableDeclSyntax
  let name: String
  /// The name without backticks, as the model has it.
  let key: String
  let type: WrittenType
  let kind: Kind
  let defaultValue: ExprSyntax?
  /// The options that the declaration is given, as they are written.
  let options: [String]

  /// The attributes by which the property says what it is.
  var marks: [AttributeSyntax] {
    declaration.attributes.compactMap { element in
      guard case .attribute(let mark) = element, PropertyAttribute(rawValue: mark.name) != nil else {
        return nil
      }
      return mark
    }
  }

  /// What the initial value is; nil when there is none.
  var initialValue: InitialValue? { defaultValue.map { InitialValue($0, type: type) } }

  /// The name in the source, for messages.
  var place: PatternSyntax { declaration.bindings.first?.pattern ?? PatternSyntax(stringLiteral: name) }

  /// The type of the slot.
  var slotType: String {
    if case .fetched = kind { return "[\(type.arrayElement?.trimmedDescription ?? type.text)]" }
    return type.text
  }

  var isRelationship: Bool { if case .relationship = kind { true } else { false } }
}

/// The attributes by which a property says what it is.
enum PropertyAttribute: String, CaseIterable {
  case unique = "Unique"
  case indexed = "Indexed"
  case attribute = "Attribute"
  case relationship = "Relationship"
  case derived = "Derived"
  case transient = "Transient"
  case fetched = "Fetched"
  case ignored = "Ignored"
}

/// Reads one member of a class. A member that is none of the model's gives neither a property nor a fault.
struct PropertyReader {
  private(set) var faults: [Fault] = []
  private let variable: VariableDeclSyntax
  private let marks: [PropertyAttribute: [AttributeSyntax]]

  init(_ variable: VariableDeclSyntax) {
    self.variable = variable
    marks = Dictionary(
      uniqueKeysWithValues: PropertyAttribute.allCases.map {
        ($0, variable.attributes.all(named: $0.rawValue))
      })
  }

  private func mark(_ attribute: PropertyAttribute) -> AttributeSyntax? { marks[attribute]?.first }
  private var firstMark: AttributeSyntax? {
    variable.attributes.lazy.compactMap { element -> AttributeSyntax? in
      if case .attribute(let attribute) = element, PropertyAttribute(rawValue: attribute.name) != nil {
        return attribute
      }
      return nil
    }.first
  }

  /// Whether the property is meant to be stored by nobody.
  var isIgnored: Bool { mark(.ignored) != nil }

  mutating func property() -> ModelProperty? {
    if let fault = Self.conditionalMark(of: variable) { faults.append(fault) }
    guard isStored() else { return nil }
    guard let binding = variable.bindings.first, variable.bindings.count == 1 else {
      faults.append(
        Fault(
          variable.bindings, "several", "a property of a model is declared on a line of its own", splitFixIt()
        ))
      return nil
    }
    guard let pattern = binding.pattern.as(IdentifierPatternSyntax.self) else {
      faults.append(Fault(binding.pattern, "pattern", "a property of a model has a name, not a pattern"))
      return nil
    }
    let name = pattern.identifier.text
    let key = name.filter { $0 != "`" }
    if let owner = ReservedNames.owner(of: key) {
      faults.append(Fault(pattern, "taken", "‘\(key)’ is \(owner): choose another name"))
      return nil
    }
    if let actor = variable.attributes.first(named: "MainActor") {
      faults.append(
        Fault(
          actor, "actor", "an object belongs to the queue of its context, not to an actor",
          [
            .replace(variable, with: variable.removing(attribute: actor.name), "remove ‘@\(actor.name)’")
          ]))
      return nil
    }
    guard let type = writtenType(binding, pattern) else { return nil }
    guard checkMarks() else { return nil }
    let initial = binding.initializer?.value.trimmed
    if let relationship = mark(.relationship) {
      return self.relationship(relationship, key, name, type, binding)
    }
    if let fetched = mark(.fetched) {
      guard type.arrayElement != nil, !type.isOptional else {
        faults.append(
          Fault(
            binding.typeAnnotation?.type ?? TypeSyntax(type.wrapped), "fetchedType",
            "a fetched property is an array of objects"))
        return nil
      }
      guard let request = fetched.argumentList?.first?.expression.trimmedDescription else {
        faults.append(Fault(fetched, "fetchedRequest", "@Fetched needs the request to execute"))
        return nil
      }
      return ModelProperty(
        declaration: variable, name: name, key: key, type: type, kind: .fetched(request: request),
        defaultValue: nil,
        options: [])
    }
    guard checkType(type, at: binding.typeAnnotation?.type) else { return nil }
    if let derived = mark(.derived) {
      guard let arguments = derived.argumentList, let expression = arguments.first?.expression else {
        faults.append(
          Fault(
            derived, "derivation",
            "@Derived needs the expression that the value follows from, such as \"chapters.@count\""))
        return nil
      }
      if let initializer = binding.initializer {
        var plain = binding.with(\.initializer, nil)
        plain.trailingTrivia = []
        let without = variable.with(\.bindings, [plain])
        faults.append(
          Fault(
            initializer, "derivedDefault",
            "a derived property has no initial value: it follows from ‘\(expression.trimmedDescription)’",
            [.replace(variable, with: without, "remove the initial value")]))
        return nil
      }
      return ModelProperty(
        declaration: variable, name: name, key: key, type: type,
        kind: .derived(expression: expression.trimmedDescription),
        defaultValue: nil,
        options: options() + arguments.dropFirst().map { $0.with(\.trailingComma, nil).trimmedDescription })
    }
    if let written = binding.initializer?.value, mark(.transient) != nil,
      InitialValue(written, type: type) == .changing
    {
      faults.append(
        Fault(
          written, "transientInitial",
          "a transient property starts with one value for all objects: set this one in awakeFromInsert() and awakeFromFetch()"
        ))
      return nil
    }
    return ModelProperty(
      declaration: variable, name: name, key: key, type: type,
      kind: mark(.transient) == nil ? .attribute : .transient,
      defaultValue: initial.flatMap { $0.is(NilLiteralExprSyntax.self) ? nil : $0 }, options: options())
  }

  // MARK: What is stored

  /// Whether the member is a stored property that a model can have.
  private mutating func isStored() -> Bool {
    if let modifier = variable.modifiers.first(where: { ["static", "class"].contains($0.name.text) }) {
      if let mark = firstMark {
        faults.append(
          Fault(
            modifier, "static",
            "a \(modifier.name.text) property belongs to no object: it cannot be @\(mark.name)",
            [
              .replace(
                variable, with: variable.removing(modifier: modifier.name), "remove ‘\(modifier.name.text)’")
            ]))
      }
      return false
    }
    if isIgnored {
      if let other = marks.first(where: { $0.key != .ignored && !$0.value.isEmpty })?.value.first {
        faults.append(
          Fault(
            other, "ignored",
            "a property that is @Ignored is no part of the model: it cannot be @\(other.name)",
            [.replace(variable, with: variable.removing(attribute: other.name), "remove ‘@\(other.name)’")]))
      }
      return false
    }
    if let accessors = variable.bindings.first?.accessorBlock { return isStored(accessors) }
    if variable.bindingSpecifier.tokenKind == .keyword(.let) {
      faults.append(
        Fault(
          variable.bindingSpecifier, "let", "a property of a model can be set: write ‘var’",
          [
            .replace(
              variable.bindingSpecifier,
              with: variable.bindingSpecifier.with(\.tokenKind, .keyword(.var)), "write ‘var’"),
            .replace(
              variable, with: variable.adding(attribute: "Ignored"),
              "keep it out of the model with ‘@Ignored’"),
          ]))
      return false
    }
    for (modifier, reason) in [
      ("lazy", "a property of a model is read from its row, not made when it is first asked for"),
      ("weak", "a property of a model cannot be weak: a to-one relationship keeps no object alive"),
      ("unowned", "a property of a model cannot be unowned: a to-one relationship keeps no object alive"),
    ] {
      guard let found = variable.modifiers.first(where: { $0.name.text == modifier }) else { continue }
      faults.append(
        Fault(
          found, modifier, reason,
          [
            .replace(variable, with: variable.removing(modifier: found.name), "remove ‘\(modifier)’"),
            .replace(
              variable, with: variable.adding(attribute: "Ignored"),
              "keep it out of the model with ‘@Ignored’"),
          ]))
      return false
    }
    return true
  }

  private mutating func isStored(_ block: AccessorBlockSyntax) -> Bool {
    var observers: [AccessorDeclSyntax] = []
    if case .accessors(let list) = block.accessors {
      observers = list.filter { ["willSet", "didSet"].contains($0.accessorSpecifier.text) }
    }
    if let observer = observers.first {
      let word = observer.accessorSpecifier.text
      var without = variable
      if var binding = without.bindings.first {
        binding.accessorBlock = nil
        binding.initializer?.value.trailingTrivia = []
        binding.typeAnnotation?.type.trailingTrivia = []
        without.bindings = [binding]
      }
      faults.append(
        Fault(
          observer.accessorSpecifier, word,
          "a property of a model has no \(word): override willSave(), or write a computed property that sets this one",
          [.replace(variable, with: without, "remove the observers")]))
      return false
    }
    // A computed property of the class's own.
    if let mark = firstMark {
      faults.append(
        Fault(
          mark, "computed", "a computed property is not stored: it cannot be @\(mark.name)",
          [.replace(variable, with: variable.removing(attribute: mark.name), "remove ‘@\(mark.name)’")]))
    }
    return false
  }

  private func splitFixIt() -> [FixIt] { [] }

  // MARK: Types

  private mutating func writtenType(_ binding: PatternBindingSyntax, _ pattern: IdentifierPatternSyntax)
    -> WrittenType?
  {
    if let annotation = binding.typeAnnotation?.type { return WrittenType(annotation) }
    if let value = binding.initializer?.value, let type = TypeInference.type(of: value) {
      return WrittenType(type)
    }
    let placeholder = TypeAnnotationSyntax(
      colon: .colonToken(trailingTrivia: .space), type: TypeSyntax(stringLiteral: "<#Type#>"))
    var typed = binding
    typed.pattern.trailingTrivia = []
    typed.typeAnnotation = placeholder.with(\.trailingTrivia, binding.initializer == nil ? [] : .space)
    faults.append(
      Fault(
        pattern, "type",
        "write the type of ‘\(pattern.identifier.text)’: a macro sees only how the value is spelled",
        [.replace(variable, with: variable.with(\.bindings, [typed]), "write a type")]))
    return nil
  }

  /// Types that no attribute holds, and what to take instead.
  private static let unsupported: [String: String?] = [
    "UInt": "Int", "UInt64": "Int64", "Int128": "Decimal", "UInt128": "Decimal", "Float16": "Float",
    "Float80": "Double",
    "Character": "String", "Substring": "String", "NSString": "String", "NSNumber": "Double",
    "NSDate": "Date",
    "NSData": "Data", "NSURL": "URL", "NSUUID": "UUID", "NSDecimalNumber": "Decimal", "Any": nil,
    "AnyObject": nil,
    "AnyHashable": nil, "Void": nil, "Never": nil, "NSObject": nil, "ManagedObject": nil,
  ]

  private mutating func checkType(_ type: WrittenType, at node: TypeSyntax?) -> Bool {
    let place = node ?? TypeSyntax(type.wrapped)
    if type.isImplicitlyUnwrapped {
      faults.append(
        Fault(
          place, "unwrapped", "a property that may have no value is written ‘\(type.text)’",
          [
            .replace(
              place, with: TypeSyntax(stringLiteral: type.text).with(\.trailingTrivia, place.trailingTrivia),
              "write ‘\(type.text)’")
          ]))
      return false
    }
    if mark(.transient) != nil { return true }
    if type.wrapped.is(TupleTypeSyntax.self) {
      faults.append(
        Fault(
          place, "tuple", "a tuple cannot be stored: make it a struct that is Codable, Hashable and Sendable")
      )
      return false
    }
    if type.wrapped.is(FunctionTypeSyntax.self)
      || type.wrapped.as(AttributedTypeSyntax.self)?.baseType.is(FunctionTypeSyntax.self) == true
    {
      faults.append(
        Fault(
          place, "function", "a function cannot be stored",
          [
            .replace(
              variable, with: variable.adding(attribute: "Ignored"),
              "keep it out of the model with ‘@Ignored’")
          ]))
      return false
    }
    if type.wrapped.is(SomeOrAnyTypeSyntax.self) {
      faults.append(
        Fault(
          place, "existential",
          "‘\(type.wrapped.trimmedDescription)’ cannot be stored: an attribute has one type"))
      return false
    }
    guard let name = type.name, let instead = Self.unsupported[name] else { return true }
    guard let instead else {
      faults.append(
        Fault(
          place, "unsupported", "‘\(name)’ cannot be stored",
          name == "ManagedObject"
            ? []
            : [
              .replace(
                variable, with: variable.adding(attribute: "Transient"),
                "keep it in memory only with ‘@Transient’")
            ]))
      return false
    }
    let new = type.isOptional ? "\(instead)?" : instead
    faults.append(
      Fault(
        place, "unsupported", "‘\(name)’ cannot be stored: no attribute holds all its values",
        node == nil
          ? []
          : [
            .replace(
              place, with: TypeSyntax(stringLiteral: new).with(\.trailingTrivia, place.trailingTrivia),
              "write ‘\(new)’")
          ]))
    return false
  }

  // MARK: Attributes

  /// Whether what is said of the property goes together.
  private mutating func checkMarks() -> Bool {
    for (attribute, found) in marks where found.count > 1 {
      guard let second = found.dropFirst().first else { continue }
      faults.append(
        Fault(
          second, attribute == .relationship ? "inverses" : "twice",
          attribute == .relationship
            ? "a relationship has one inverse: write @Relationship once"
            : "@\(second.name) stands here twice",
          [
            .replace(
              variable.attributes, with: variable.attributes.removing(second),
              "remove the second ‘@\(second.name)’")
          ]))
      return false
    }
    let clashes: [(PropertyAttribute, [PropertyAttribute], String)] = [
      (.relationship, [.unique, .indexed, .attribute, .derived, .transient, .fetched], "a relationship"),
      (.fetched, [.unique, .indexed, .attribute, .derived, .transient], "a fetched property"),
      (.transient, [.unique, .indexed, .attribute, .derived], "a transient property"),
    ]
    for (attribute, others, words) in clashes where mark(attribute) != nil {
      for other in others {
        guard let clash = mark(other) else { continue }
        faults.append(
          Fault(
            clash, "clash", "\(words) cannot be @\(clash.name)",
            [
              .replace(
                variable.attributes, with: variable.attributes.removing(clash), "remove ‘@\(clash.name)’")
            ]))
        return false
      }
    }
    return true
  }

  private func options() -> [String] {
    var options: [String] = []
    if mark(.unique) != nil { options.append(".unique") }
    if let indexed = mark(.indexed) {
      options.append(".indexed" + (indexed.argumentList.map { "(\($0.trimmedDescription))" } ?? ""))
    }
    options += mark(.attribute)?.argumentList?.map { $0.with(\.trailingComma, nil).trimmedDescription } ?? []
    return options
  }

  // MARK: Relationships

  private mutating func relationship(
    _ attribute: AttributeSyntax, _ key: String, _ name: String, _ type: WrittenType,
    _ binding: PatternBindingSyntax
  ) -> ModelProperty? {
    let place = binding.typeAnnotation?.type ?? TypeSyntax(type.wrapped)
    func typeFault(_ words: String, _ new: String?) -> Fault {
      Fault(
        place, "relationshipType", words,
        new.map {
          [
            .replace(
              place, with: TypeSyntax(stringLiteral: $0).with(\.trailingTrivia, place.trailingTrivia),
              "write ‘\($0)’")
          ]
        } ?? [])
    }
    let element = type.arrayElement ?? type.setElement
    if type.isImplicitlyUnwrapped {
      faults.append(typeFault("a to-one relationship may lead to no object: write ‘\(type.text)’", type.text))
      return nil
    }
    if element != nil, type.isOptional {
      let new = type.wrapped.trimmedDescription
      faults.append(typeFault("a to-many relationship without members is empty, not nil", new))
      return nil
    }
    if element == nil, !type.isOptional {
      guard type.name != nil, !["NSSet", "NSOrderedSet", "NSArray", "Dictionary"].contains(type.name),
        !type.wrapped.is(DictionaryTypeSyntax.self)
      else {
        faults.append(typeFault("a relationship is an object that may be nil, a Set or an array", nil))
        return nil
      }
      faults.append(
        typeFault(
          "a to-one relationship may lead to no object, before it is set and after the object is deleted: make it optional, and "
            + "say .required if no save may be without", "\(type.text)?"))
      return nil
    }
    if let initial = binding.initializer {
      let isNothing =
        initial.value.is(NilLiteralExprSyntax.self)
        || initial.value.as(ArrayExprSyntax.self)?.elements.isEmpty == true
      if !isNothing {
        faults.append(
          Fault(
            initial.value, "relationshipDefault",
            "a new object is related to none: a relationship has no initial value"))
        return nil
      }
    }
    let destination = element ?? type.wrapped
    var inverse: String?
    var options: [String] = []
    for argument in attribute.argumentList ?? [] {
      guard argument.label?.text == "inverse" else {
        if !checkOption(argument.expression, isToMany: element != nil) { return nil }
        options.append(argument.expression.trimmedDescription)
        continue
      }
      if argument.expression.is(NilLiteralExprSyntax.self) { continue }
      guard let found = self.inverse(argument.expression, destination) else { return nil }
      inverse = found
    }
    return ModelProperty(
      declaration: variable, name: name, key: key, type: type, kind: .relationship(inverse: inverse),
      defaultValue: nil,
      options: options)
  }

  /// Whether an option fits a to-one or a to-many relationship.
  private mutating func checkOption(_ expression: ExprSyntax, isToMany: Bool) -> Bool {
    guard let call = expression.as(FunctionCallExprSyntax.self),
      let access = call.calledExpression.as(MemberAccessExprSyntax.self)
    else { return true }
    let name = access.declName.baseName.text
    guard name == "minimum" || name == "maximum" else { return true }
    if !isToMany {
      faults.append(
        Fault(
          expression, "count",
          "a to-one relationship has no .\(name): say .required, or make it a Set or an array"))
      return false
    }
    if name == "maximum", let number = call.arguments.first?.expression.as(IntegerLiteralExprSyntax.self),
      number.literal.text == "1" || number.literal.text == "0"
    {
      faults.append(
        Fault(
          expression, "count",
          "the most members of a to-many relationship are at least 2: for one, make it optional"))
      return false
    }
    return true
  }

  /// The name of the property that an inverse names.
  private mutating func inverse(_ expression: ExprSyntax, _ destination: TypeSyntax) -> String? {
    let wanted = destination.trimmedDescription
    guard let path = expression.as(KeyPathExprSyntax.self) else {
      faults.append(
        Fault(
          expression, "inverse", "an inverse is named by a key path, \\\(wanted).property",
          expression.as(StringLiteralExprSyntax.self)?.representedLiteralValue.map { name in
            [
              .replace(
                expression, with: ExprSyntax(stringLiteral: "\\\(wanted).\(name)"),
                "write ‘\\\(wanted).\(name)’")
            ]
          } ?? []))
      return nil
    }
    guard let root = path.root else {
      faults.append(
        Fault(
          path, "inverse", "an inverse names its class, \\\(wanted).property",
          [
            .replace(
              path, with: path.with(\.root, destination.trimmed),
              "write ‘\\\(wanted)\(path.components.trimmedDescription)’")
          ]))
      return nil
    }
    // `\\Shop.Author.books`: the parser takes what follows the first name for properties.
    var names = root.trimmedDescription.split(separator: ".").map(String.init)
    for element in path.components {
      guard let component = element.component.as(KeyPathPropertyComponentSyntax.self) else {
        faults.append(Fault(path, "inversePath", "an inverse is one property of \(wanted)"))
        return nil
      }
      names.append(component.declName.baseName.text.filter { $0 != "`" })
    }
    let last = wanted.split(separator: ".").last.map(String.init)
    guard let place = names.firstIndex(where: { $0 == last }) else {
      faults.append(
        Fault(
          root, "inverseClass", "the inverse of a relationship to \(wanted) is a property of \(wanted)",
          path.components.count == 1 ? [.replace(root, with: destination.trimmed, "write ‘\(wanted)’")] : []))
      return nil
    }
    guard names.count == place + 2, let property = names.last else {
      faults.append(
        Fault(
          path, "inversePath",
          names.count == place + 1
            ? "the inverse is missing: name the property, \\\(wanted).property"
            : "an inverse is one property of \(wanted)"
        ))
      return nil
    }
    return property
  }
}

extension AttributeListSyntax {
  /// The list without one of its attributes.
  func removing(_ attribute: AttributeSyntax) -> AttributeListSyntax {
    var result = filter { element in
      if case .attribute(let other) = element { return other.id != attribute.id }
      return true
    }
    result.leadingTrivia = leadingTrivia
    return result
  }
}
