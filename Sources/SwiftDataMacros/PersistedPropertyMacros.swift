import MacroSupport
import SwiftSyntax
import SwiftSyntaxBuilder
import SwiftSyntaxMacros

/// What both kinds of persisted properties are given.
protocol StoredPropertyMacro: AccessorMacro, PeerMacro {
  /// The functions of a model that read and write such a property.
  static var getter: String { get }
  static var setter: String { get }
}

extension StoredPropertyMacro {
  static func expansion(
    of node: AttributeSyntax, providingAccessorsOf declaration: some DeclSyntaxProtocol,
    in context: some MacroExpansionContext
  ) throws -> [AccessorDeclSyntax] {
    guard let property = PropertyReader.persisted(declaration, Conditions(context)) else { return [] }
    let name = property.name
    let (begun, read) = short(node, name)
    return [
      """
      @storageRestrictions(accesses: _$backingData, initializes: \(raw: property.marker))
      init(initialValue) {
        \(raw: begun)SwiftData._begun(&_$backingData).\(raw: setter)(forKey: \\.\(raw: name), to: initialValue)\(raw: begun.isEmpty ? "" : "\n  }")
        \(raw: property.marker) = _SwiftDataNoType()
      }
      """,
      """
      get {
        \(raw: read)_$observationRegistrar.access(self, keyPath: \\.\(raw: name))
        return self.\(raw: getter)(forKey: \\.\(raw: name))
      }
      """,
      """
      set {
        _$observationRegistrar.withMutation(of: self, keyPath: \\.\(raw: name)) {
          self.\(raw: setter)(forKey: \\.\(raw: name), to: newValue)
        }
      }
      """,
    ]
  }

  /// The short ways of an initial value and of reading, which know the property by its place: no key path is made for types that they are there for. For other types
  /// the compiler drops them.
  private static func short(_ node: AttributeSyntax, _ name: String) -> (begun: String, read: String) {
    guard let place = node.argumentList?.first?.expression.trimmedDescription else { return ("", "") }
    return (
      """
      if _$backingData == nil {
          _$backingData = SwiftData._newBackingData()
        }
        if _$backingData?._begin(\(place), with: initialValue) != true {

      """ + "    ",
      "if let value = self._value(at: \(place), in: _$row, \\.\(name)) {\n    return value\n  }\n  "
    )
  }

  static func expansion(
    of node: AttributeSyntax, providingPeersOf declaration: some DeclSyntaxProtocol,
    in context: some MacroExpansionContext
  ) throws -> [DeclSyntax] {
    guard let property = PropertyReader.persisted(declaration, Conditions(context)) else { return [] }
    let mark =
      property.type?.isSugared == true ? (property.type?.isImplicitlyUnwrapped == true ? "!" : "?") : ""
    let value = property.initialValue == nil ? "" : " = _SwiftDataNoType()"
    return [
      """
      @SwiftData.Transient
      private var \(raw: property.marker): _SwiftDataNoType\(raw: mark)\(raw: value)
      """
    ]
  }
}

/// `@_PersistedProperty`, which `@Model` puts before each property.
struct PersistedPropertyMacro: StoredPropertyMacro {
  static var getter: String { "getValue" }
  static var setter: String { "setValue" }
}

/// `@_TransformablePersistedProperty`, which `@Model` puts before properties that name a transformer.
struct TransformablePropertyMacro: StoredPropertyMacro {
  static var getter: String { "getTransformableValue" }
  static var setter: String { "setTransformableValue" }
}

/// `@Attribute` and the others, which say something to `@Model` and write nothing.
struct PropertyMarkerMacro: PeerMacro {
  static func expansion(
    of node: AttributeSyntax, providingPeersOf declaration: some DeclSyntaxProtocol,
    in context: some MacroExpansionContext
  ) throws -> [DeclSyntax] {
    if !declaration.is(VariableDeclSyntax.self) {
      Fault(node, "property", "@\(node.name) is for properties").report(in: context)
    }
    return []
  }
}

/// `#Unique` and `#Index`, which say something to `@Model` and write nothing.
struct ModelDeclarationMacro: DeclarationMacro {
  static func expansion(
    of node: some FreestandingMacroExpansionSyntax, in context: some MacroExpansionContext
  ) throws -> [DeclSyntax] {
    let owner = context.lexicalContext.first?.as(ClassDeclSyntax.self)
    if owner?.attributes.contains(named: "Model") != true {
      Fault(node, "declaration", "#\(node.macroName.text) stands in a class with @Model").report(in: context)
    }
    return []
  }
}
