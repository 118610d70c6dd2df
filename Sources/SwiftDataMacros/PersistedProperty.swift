import MacroSupport
import SwiftDiagnostics
import SwiftSyntax
import SwiftSyntaxMacros

/// One property that a store keeps, as the macros understand it.
struct PersistedProperty {
  let declaration: VariableDeclSyntax
  /// The name as it is written, perhaps in backticks.
  let name: String
  let type: WrittenType?
  let initialValue: ExprSyntax?

  /// The name without backticks, as the schema has it.
  var key: String { name.filter { $0 != "`" } }
  /// The stored property that stands for this one while an object is initialised.
  var marker: String { "_" + key }

  /// Whether nil is the initial value without being written.
  var isImplicitlyNil: Bool {
    initialValue == nil && declaration.bindingSpecifier.tokenKind == .keyword(.var) && type?.isSugared == true
  }
  var hasInitialValue: Bool { initialValue != nil || isImplicitlyNil }

  var attribute: AttributeSyntax? { declaration.attributes.first(named: "Attribute") }
  var relationship: AttributeSyntax? { declaration.attributes.first(named: "Relationship") }

  /// Whether `@Attribute` names a transformer.
  var isTransformable: Bool {
    attribute?.argumentList?.contains { argument in
      let called = argument.expression.as(FunctionCallExprSyntax.self)?.calledExpression
      return called?.as(MemberAccessExprSyntax.self)?.declName.baseName.text == "transformable"
    } ?? false
  }

  /// What the schema is told as the property's default value: an expression of the property's type.
  var defaultValue: String? {
    guard relationship == nil, let initialValue, !initialValue.is(NilLiteralExprSyntax.self) else {
      return nil
    }
    guard let type else { return initialValue.trimmedDescription }
    return "(\(initialValue.trimmedDescription)) as \(type.text)"
  }
}

extension WrittenType {
  /// Whether it is an optional written with a mark, whose initial value is nil.
  var isSugared: Bool { isOptional && !isSpelledOut }
}

/// Reads one member of a class.
struct PropertyReader {
  enum Member {
    /// Not the schema's: computed, static, transient, or none at all.
    case other
    case persisted(PersistedProperty)
    case wrong
  }
  private(set) var faults: [Fault] = []
  private let variable: VariableDeclSyntax

  init(_ variable: VariableDeclSyntax) { self.variable = variable }

  /// The property that the declaration makes persistent; nil for every other.
  static func persisted(_ declaration: some DeclSyntaxProtocol) -> PersistedProperty? {
    guard let variable = declaration.as(VariableDeclSyntax.self) else { return nil }
    var reader = PropertyReader(variable)
    if case .persisted(let property) = reader.member() { return property }
    return nil
  }

  mutating func member() -> Member {
    if variable.modifiers.contains(where: { ["static", "class"].contains($0.name.text) }) { return .other }
    if variable.attributes.first(named: "Transient") != nil {
      checkTransient()
      return faults.isEmpty ? .other : .wrong
    }
    guard let binding = variable.bindings.first else { return .other }
    if let block = binding.accessorBlock { return computed(block) }
    // What the macros write themselves.
    if binding.pattern.trimmedDescription.hasPrefix("_$") { return .other }
    for (modifier, reason) in [
      ("lazy", "a property of a model is read from its row, not made when it is first asked for"),
      ("weak", "a property of a model cannot be weak: a relationship keeps no object alive"),
      ("unowned", "a property of a model cannot be unowned: a relationship keeps no object alive"),
    ] {
      guard let found = variable.modifiers.first(where: { $0.name.text == modifier }) else { continue }
      let plain = variable.removing(modifier: found.name)
      return wrong(
        Fault(
          found, modifier, reason,
          [.replace(variable, with: plain, "remove ‘\(modifier)’")]
            + transientFixIt()))
    }
    if variable.bindings.count > 1 {
      return wrong(
        Fault(
          variable.bindings, "several", "a property of a model is declared on a line of its own", splitFixIt()
        ))
    }
    guard let pattern = binding.pattern.as(IdentifierPatternSyntax.self) else {
      return wrong(Fault(binding.pattern, "pattern", "a property of a model has a name, not a pattern"))
    }
    let type = binding.typeAnnotation.map { WrittenType($0.type) }
    if let type, let written = binding.typeAnnotation?.type,
      let fault = unsupported(type.wrapped, at: written)
    {
      return wrong(fault)
    }
    let property = PersistedProperty(
      declaration: variable, name: pattern.identifier.text, type: type,
      initialValue: binding.initializer?.value.trimmed)
    if let owner = Self.reserved[property.key] {
      return wrong(Fault(pattern, "taken", "‘\(property.key)’ is \(owner): choose another name"))
    }
    if variable.bindingSpecifier.tokenKind == .keyword(.let) {
      var fault = Fault(
        variable.bindingSpecifier, "let", "a property of a model can be set: write ‘var’",
        [
          .replace(
            variable.bindingSpecifier, with: variable.bindingSpecifier.with(\.tokenKind, .keyword(.var)),
            "write ‘var’")
        ])
      // In Swift 5 it works; in Swift 6 the compiler refuses it.
      fault.message.severity = .warning
      faults.append(fault)
    }
    return .persisted(property)
  }

  private static let reserved: [String: String] = [
    "persistentBackingData": "what @Model writes into the class",
    "schemaMetadata": "what @Model writes into the class",
    "persistentModelID": "a property of every model", "modelContext": "a property of every model",
    "self": "a word of the language", "init": "a word of the language", "Type": "a word of the language",
  ]

  private mutating func wrong(_ fault: Fault) -> Member {
    faults.append(fault)
    return .wrong
  }

  // MARK: Computed and transient ones

  private mutating func computed(_ block: AccessorBlockSyntax) -> Member {
    if case .accessors(let list) = block.accessors,
      let observer = list.first(where: { ["willSet", "didSet"].contains($0.accessorSpecifier.text) })
    {
      var plain = variable
      if var binding = plain.bindings.first {
        binding.accessorBlock = nil
        binding.initializer?.value.trailingTrivia = []
        binding.typeAnnotation?.type.trailingTrivia = []
        plain.bindings = [binding]
      }
      let word = observer.accessorSpecifier.text
      return wrong(
        Fault(
          observer.accessorSpecifier, word,
          "a property of a model has no \(word), which would never run: write a computed property that sets this one",
          [.replace(variable, with: plain, "remove the observers")] + transientFixIt()))
    }
    let attributes = variable.attributes
    guard let mark = attributes.first(named: "Attribute") ?? attributes.first(named: "Relationship") else {
      return .other
    }
    return wrong(
      Fault(
        mark, "computed", "a computed property is not stored: it cannot be @\(mark.name)",
        [.replace(variable, with: variable.removing(attribute: mark.name), "remove ‘@\(mark.name)’")]))
  }

  private mutating func checkTransient() {
    for mark in ["Attribute", "Relationship"].compactMap({ variable.attributes.first(named: $0) }) {
      faults.append(
        Fault(
          mark, "transient",
          "a property that is @Transient is no part of the schema: it cannot be @\(mark.name)",
          [.replace(variable, with: variable.removing(attribute: mark.name), "remove ‘@\(mark.name)’")]))
    }
    for binding in variable.bindings where binding.accessorBlock == nil && binding.initializer == nil {
      guard
        variable.bindingSpecifier.tokenKind == .keyword(.let)
          || binding.typeAnnotation.map({ !WrittenType($0.type).isOptional }) ?? false
      else { continue }
      let name = binding.pattern.trimmedDescription
      var fixIts: [FixIt] = []
      if let type = binding.typeAnnotation?.type, variable.bindingSpecifier.tokenKind == .keyword(.var) {
        let optional = TypeSyntax(stringLiteral: "\(type.trimmedDescription)?")
        fixIts.append(
          .replace(type, with: optional.with(\.trailingTrivia, type.trailingTrivia), "make it optional"))
      }
      faults.append(
        Fault(
          binding.pattern, "transientDefault",
          "‘\(name)’ is @Transient and needs an initial value: objects that are fetched start with it", fixIts
        ))
    }
  }

  // MARK: Types and fix-its

  private func unsupported(_ type: TypeSyntax, at place: TypeSyntax) -> Fault? {
    if type.is(TupleTypeSyntax.self) {
      return Fault(place, "tuple", "a tuple cannot be stored: make it a struct that is Codable")
    }
    if type.is(FunctionTypeSyntax.self)
      || type.as(AttributedTypeSyntax.self)?.baseType.is(FunctionTypeSyntax.self) == true
    {
      return Fault(place, "function", "a function cannot be stored", transientFixIt())
    }
    return nil
  }

  private func transientFixIt() -> [FixIt] {
    [
      .replace(
        variable, with: variable.adding(attribute: "Transient"), "keep it out of the schema with ‘@Transient’"
      )
    ]
  }

  /// One declaration for each name, when all have a type or a value of their own.
  private func splitFixIt() -> [FixIt] {
    let bindings = Array(variable.bindings)
    guard bindings.allSatisfy({ $0.typeAnnotation != nil || $0.initializer != nil }),
      let list = variable.parent?.parent?.as(MemberBlockItemListSyntax.self),
      let item = variable.parent?.as(MemberBlockItemSyntax.self),
      let place = list.firstIndex(where: { $0.id == item.id })
    else { return [] }
    var items = Array(list)
    let number = list.distance(from: list.startIndex, to: place)
    let indentation = variable.leadingTrivia.lastLine
    items[number...number] = ArraySlice(
      bindings.enumerated().map { position, binding in
        var declaration = variable
        declaration.bindings = [binding.with(\.trailingComma, nil).with(\.leadingTrivia, [])]
        if position > 0 { declaration.leadingTrivia = .newline + indentation }
        return MemberBlockItemSyntax(decl: declaration)
      })
    return [.replace(list, with: MemberBlockItemListSyntax(items), "declare each property for itself")]
  }
}

extension Trivia {
  /// The blanks behind the last line break.
  var lastLine: Trivia {
    var pieces: [TriviaPiece] = []
    for piece in self {
      if case .newlines = piece { pieces = [] } else { pieces.append(piece) }
    }
    return Trivia(pieces: pieces)
  }
}
