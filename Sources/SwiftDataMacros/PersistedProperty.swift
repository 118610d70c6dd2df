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
  /// What is said of it, in each branch of an `#if` that says it.
  let marks: Conditional<PropertyMarks>
  /// Whether `@Attribute` names a transformer.
  let isTransformable: Bool

  /// The name without backticks, as the schema has it.
  var key: String { name.filter { $0 != "`" } }
  /// The stored property that stands for this one while an object is initialised.
  var marker: String { "_" + key }

  /// Whether nil is the initial value without being written.
  var isImplicitlyNil: Bool {
    initialValue == nil && declaration.bindingSpecifier.tokenKind == .keyword(.var) && type?.isSugared == true
  }
  var hasInitialValue: Bool { initialValue != nil || isImplicitlyNil }

  /// What the schema is told as the default value of an attribute: an expression of the property's type.
  var defaultValue: String? {
    guard let initialValue, !initialValue.is(NilLiteralExprSyntax.self) else { return nil }
    guard let type else { return initialValue.trimmedDescription }
    return "(\(initialValue.trimmedDescription)) as \(type.text)"
  }
}

/// What is said of a persisted property.
struct PropertyMarks {
  let attribute: AttributeSyntax?
  let relationship: AttributeSyntax?

  /// Whether `@Attribute` names a transformer.
  var isTransformable: Bool {
    attribute?.argumentList?.contains { argument in
      let called = argument.expression.as(FunctionCallExprSyntax.self)?.calledExpression
      return called?.as(MemberAccessExprSyntax.self)?.declName.baseName.text == "transformable"
    } ?? false
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
  /// The attributes of the variable, in one of the branches that they may have.
  private let attributes: [AttributeSyntax]
  private static let names: Set<String> = ["Attribute", "Relationship", "Transient"]

  private init(_ variable: VariableDeclSyntax, _ attributes: [AttributeSyntax]) {
    self.variable = variable
    self.attributes = attributes
  }

  /// The property that the declaration makes persistent; nil for every other.
  static func persisted(_ declaration: some DeclSyntaxProtocol, _ conditions: Conditions)
    -> PersistedProperty?
  {
    guard let variable = declaration.as(VariableDeclSyntax.self),
      case .persisted(let property) = read(variable, conditions).member
    else { return nil }
    return property
  }

  /// What a declaration is to the schema, and what is wrong with it.
  static func read(_ variable: VariableDeclSyntax, _ conditions: Conditions) -> (
    member: Member, faults: [Fault]
  ) {
    let branches = conditions.attributes(variable.attributes, named: names)
    if let attributes = branches.certain {
      var reader = PropertyReader(variable, attributes)
      return (reader.member(), reader.faults)
    }
    var faults: [Fault] = []
    let members = branches.map { attributes -> Member in
      var reader = PropertyReader(variable, attributes)
      let member = reader.member()
      for fault in reader.faults where !faults.contains(where: { $0.isSame(as: fault) }) {
        faults.append(fault)
      }
      return member
    }
    if members.parts.contains(where: { if case .wrong = $0 { true } else { false } }) {
      return (.wrong, faults)
    }
    let properties = members.parts.compactMap { member -> PersistedProperty? in
      if case .persisted(let property) = member { property } else { nil }
    }
    guard let first = properties.first else { return (.other, faults) }
    guard properties.count == members.parts.count,
      properties.allSatisfy({ $0.isTransformable == first.isTransformable })
    else { return (.wrong, faults + [undecided(variable)]) }
    let marks = members.flatMap { member -> Conditional<PropertyMarks> in
      if case .persisted(let property) = member { return property.marks }
      return first.marks
    }
    let property = PersistedProperty(
      declaration: variable, name: first.name, type: first.type, initialValue: first.initialValue,
      marks: marks, isTransformable: first.isTransformable)
    return (.persisted(property), faults)
  }

  /// What is said where the accessors depend on a condition.
  private static func undecided(_ variable: VariableDeclSyntax) -> Fault {
    let conditional = variable.attributes.firstConditional(named: names)
    let line = conditional?.clauses.first?.condition.map { "#if \($0.trimmedDescription)" } ?? "#if"
    return Fault(
      conditional.map { Syntax($0) } ?? Syntax(variable), "conditional",
      "no macro is told whether ‘\(line)’ is true, and the property is another one where it is: write the whole property once in each branch of the #if"
    )
  }

  /// The attribute of that name.
  private func mark(_ name: String) -> AttributeSyntax? { attributes.first { $0.name == name } }

  /// The fix-it that removes an attribute; none for one in `#if`.
  private func removal(of mark: AttributeSyntax) -> [FixIt] {
    guard variable.attributes.first(named: mark.name) != nil else { return [] }
    return [.replace(variable, with: variable.removing(attribute: mark.name), "remove ‘@\(mark.name)’")]
  }

  private mutating func member() -> Member {
    if variable.modifiers.contains(where: { ["static", "class"].contains($0.name.text) }) { return .other }
    if mark("Transient") != nil {
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
    let marks = PropertyMarks(attribute: mark("Attribute"), relationship: mark("Relationship"))
    let property = PersistedProperty(
      declaration: variable, name: pattern.identifier.text, type: type,
      initialValue: binding.initializer?.value.trimmed, marks: .part(marks),
      isTransformable: marks.isTransformable)
    if let owner = Self.reserved[property.key] {
      return wrong(Fault(pattern, "taken", "‘\(property.key)’ is \(owner): choose another name"))
    }
    if variable.bindingSpecifier.tokenKind == .keyword(.let) {
      // In Swift 5 it works; in Swift 6 the compiler refuses it.
      warn(
        Fault(
          variable.bindingSpecifier, "let", "a property of a model can be set: write ‘var’",
          [
            .replace(
              variable.bindingSpecifier, with: variable.bindingSpecifier.with(\.tokenKind, .keyword(.var)),
              "write ‘var’")
          ]))
    }
    if let attribute = marks.attribute, marks.relationship != nil {
      warn(
        Fault(
          attribute, "attributeOfRelationship", "@Attribute says nothing of a relationship",
          removal(of: attribute)))
    }
    checkUnique(marks.relationship, type)
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
    guard let mark = mark("Attribute") ?? mark("Relationship") else { return .other }
    // Apple's macros let it stand, and it says nothing there either.
    warn(
      Fault(
        mark, "computed", "a computed property is not stored: @\(mark.name) says nothing of it",
        removal(of: mark)))
    return .other
  }

  private mutating func warn(_ fault: Fault) {
    var fault = fault
    fault.message.severity = .warning
    faults.append(fault)
  }

  /// `.unique` says nothing of a to-many relationship. Where the type is not seen to be one, the schema leaves it out.
  private mutating func checkUnique(_ mark: AttributeSyntax?, _ type: WrittenType?) {
    guard let mark, type?.arrayElement != nil || type?.setElement != nil, let list = mark.argumentList,
      let option = list.first(where: { $0.expression.memberName == "unique" })
    else { return }
    var others = list.filter { $0.id != option.id }
    if let last = others.indices.last { others[last].trailingComma = nil }
    var plain = mark.with(\.arguments, .argumentList(others))
    if others.isEmpty {
      plain.arguments = nil
      plain.leftParen = nil
      plain.rightParen = nil
      plain.trailingTrivia = mark.trailingTrivia
    }
    warn(
      Fault(
        option.expression, "uniqueToMany",
        "several objects may lead to the same ones: ‘.unique’ says nothing of a to-many relationship",
        [.replace(mark, with: plain, "remove ‘.unique’")]))
  }

  private mutating func checkTransient() {
    for mark in ["Attribute", "Relationship"].compactMap({ mark($0) }) {
      faults.append(
        Fault(
          mark, "transient",
          "a property that is @Transient is no part of the schema: it cannot be @\(mark.name)",
          removal(of: mark)))
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

extension ExprSyntax {
  /// `unique` in `.unique` and `Schema.Relationship.Option.unique`.
  fileprivate var memberName: String? { self.as(MemberAccessExprSyntax.self)?.declName.baseName.text }
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
