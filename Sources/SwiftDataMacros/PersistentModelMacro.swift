import MacroSupport
import SwiftSyntax
import SwiftSyntaxBuilder
import SwiftSyntaxMacros

/// `@Model`. Of what it writes, Docs/Decisions says why it takes two steps, and what makes its accessors short:
///
///     @Model ──▶ members:     backing data, metadata, the initialiser for rows
///           └──▶ @_PersistedProperty on each property ──▶ init, get and set, and the stored property that the init accessor initialises
struct PersistentModelMacro {}

extension PersistentModelMacro: MemberMacro {
  static func expansion(
    of node: AttributeSyntax, providingMembersOf declaration: some DeclGroupSyntax,
    conformingTo protocols: [TypeSyntax], in context: some MacroExpansionContext
  ) throws -> [DeclSyntax] {
    // For a class whose superclass is a model, no conformance is missing.
    let isSubmodel = !protocols.contains { $0.trimmedDescription.hasSuffix("PersistentModel") }
    var faults: [Fault] = []
    let found = ModelClass(declaration, node, isSubmodel: isSubmodel, &faults)
    for fault in faults { fault.report(in: context) }
    guard let found else { return [] }
    return found.isSubmodel ? submodel(found) : root(found)
  }

  private static func root(_ found: ModelClass) -> [DeclSyntax] {
    let name = found.name
    // `@exclusivity(unchecked)`: every access is one load or store where the model is used, and none spans a call into code of the program.
    var members: [DeclSyntax] = [
      """
      @SwiftData.Transient @exclusivity(unchecked)
      private var _$backingData: (any SwiftData.BackingData<\(raw: name)>)? = nil
      """,
      """
      \(raw: found.overridableAccess)var persistentBackingData: any SwiftData.BackingData<\(raw: name)> {
        get {
          SwiftData._begun(&_$backingData)
        }
        set {
          _$row = SwiftData._RowReference(newValue)
          _$backingData = newValue
        }
      }
      """,
      """
      @SwiftData.Transient @exclusivity(unchecked)
      \(raw: found.isFinal ? "private" : "\(found.access)private(set)") var _$row = SwiftData._RowReference()
      """,
      """
      \(raw: found.overridableAccess)class var schemaMetadata: [SwiftData.Schema.PropertyMetadata] {
        [
          \(raw: metadata(of: found))
        ]
      }
      """,
      """
      \(raw: found.access)\(raw: found.isFinal ? "" : "required ")init(backingData: any SwiftData.BackingData<\(raw: name)>) {
      \(raw: markers(of: found))  _$row = SwiftData._RowReference(backingData)
        _$backingData = backingData
      }
      """,
      """
      @SwiftData.Transient
      \(raw: found.isFinal ? "private " : found.access)nonisolated let _$observationRegistrar = SwiftData._ModelRegistrar()
      """,
      """
      nonisolated func access<_Member>(keyPath: KeyPath<\(raw: name), _Member>) {
        _$observationRegistrar.access(self, keyPath: keyPath)
      }
      """,
      """
      nonisolated func withMutation<_Member, _Result>(
        keyPath: KeyPath<\(raw: name), _Member>, _ mutation: () throws -> _Result
      ) rethrows -> _Result {
        try _$observationRegistrar.withMutation(of: self, keyPath: keyPath, mutation)
      }
      """,
      """
      struct _SwiftDataNoType {
      }
      """,
    ]
    if !found.isFinal {
      members.append("\(raw: found.access)typealias _$ModelRoot = \(raw: name)")
      members.append(keyPaths(of: found))
    }
    if !found.hasInitializer, found.properties.allSatisfy(\.hasInitialValue) {
      members.append(
        """
        \(raw: found.access)init() {
        }
        """)
    }
    return members
  }

  /// The root class has one set of backing data for all. What an initialiser of the submodel assigns before it calls the superclass's is kept in
  /// a draft of its own, and moved there when the backing data is first asked for.
  private static func submodel(_ found: ModelClass) -> [DeclSyntax] {
    let name = found.name
    var members: [DeclSyntax] = [
      """
      @SwiftData.Transient @exclusivity(unchecked)
      private var _$backingData: (any SwiftData.BackingData<\(raw: name)>)? = nil
      """,
      """
      @SwiftData.Transient
      private var _$holdsInitialValues = true
      """,
      """
      \(raw: found.overridableAccess)override var persistentBackingData: any SwiftData.BackingData<_$ModelRoot> {
        get {
          if _$holdsInitialValues {
            _$holdsInitialValues = false
            if let _$backingData {
              \(raw: name)._takeInitialValues(_$backingData, into: super.persistentBackingData)
            }
          }
          return super.persistentBackingData
        }
        set {
          super.persistentBackingData = newValue
        }
      }
      """,
      """
      \(raw: found.overridableAccess)override class var schemaMetadata: [SwiftData.Schema.PropertyMetadata] {
        SwiftData._inherited(super.schemaMetadata, at: super._$keyPaths(of: \(raw: name).self)) + [
          \(raw: metadata(of: found))
        ]
      }
      """,
      """
      \(raw: found.access)required init(backingData: any SwiftData.BackingData<_$ModelRoot>) {
      \(raw: markers(of: found))  _$holdsInitialValues = false
        super.init(backingData: backingData)
      }
      """,
      """
      struct _SwiftDataNoType {
      }
      """,
    ]
    if !found.isFinal { members.append(keyPaths(of: found)) }
    return members
  }

  /// The key path of a submodel to an inherited property is another one than its superclass has, and cannot be made of that at run time. A generic function makes it, which
  /// the submodel calls with itself. It is static, since an override could not have another constraint: each class calls that of the class above.
  private static func keyPaths(of found: ModelClass) -> DeclSyntax {
    let own = found.properties.map { "\\_Model.\($0.name)" }.joined(separator: ", ")
    let all = found.isSubmodel ? "super._$keyPaths(of: type) + ([\(own)] as [AnyKeyPath])" : "[\(own)]"
    return """
      \(raw: found.access)static func _$keyPaths<_Model: \(raw: found.name)>(of type: _Model.Type) -> [AnyKeyPath] {
        \(raw: all)
      }
      """
  }

  private static func markers(of found: ModelClass) -> String {
    found.properties.map { "  \($0.marker) = _SwiftDataNoType()\n" }.joined()
  }

  // MARK: Metadata

  private static func metadata(of found: ModelClass) -> String {
    var entries = found.properties.map { property in
      entry(
        property.key, "\\\(found.name).\(property.name)", property.defaultValue,
        described(property.attribute, as: "Attribute")
          ?? described(property.relationship, as: "Relationship"))
    }
    entries += found.keys.map { key in
      entry(
        "SwiftData.Schema.\(key.kind)", "\\SwiftData.Schema.version", nil,
        "SwiftData.Schema.\(key.kind)\(key.type)(\(key.arguments))")
    }
    return entries.joined(separator: ",\n    ")
  }

  private static func entry(
    _ name: String, _ keyPath: String, _ defaultValue: String?, _ metadata: String?
  ) -> String {
    """
    SwiftData.Schema.PropertyMetadata(name: "\(name)", keypath: \(keyPath), \
    defaultValue: \(defaultValue ?? "nil"), metadata: \(metadata ?? "nil"))
    """
  }

  private static func described(_ attribute: AttributeSyntax?, as type: String) -> String? {
    attribute.map { "SwiftData.Schema.\(type)(\($0.argumentList?.trimmedDescription ?? ""))" }
  }
}

extension PersistentModelMacro: MemberAttributeMacro {
  static func expansion(
    of node: AttributeSyntax, attachedTo declaration: some DeclGroupSyntax,
    providingAttributesFor member: some DeclSyntaxProtocol, in context: some MacroExpansionContext
  ) throws -> [AttributeSyntax] {
    guard declaration.is(ClassDeclSyntax.self), let property = PropertyReader.persisted(member) else {
      return []
    }
    if property.isTransformable { return ["@_TransformablePersistedProperty"] }
    // Its place in the metadata.
    let names = declaration.memberBlock.members.compactMap { PropertyReader.persisted($0.decl)?.name }
    guard let place = names.firstIndex(of: property.name) else { return ["@_PersistedProperty"] }
    return ["@_PersistedProperty(\(raw: place))"]
  }
}

extension PersistentModelMacro: ExtensionMacro {
  static func expansion(
    of node: AttributeSyntax, attachedTo declaration: some DeclGroupSyntax,
    providingExtensionsOf type: some TypeSyntaxProtocol, conformingTo protocols: [TypeSyntax],
    in context: some MacroExpansionContext
  ) throws -> [ExtensionDeclSyntax] {
    guard declaration.is(ClassDeclSyntax.self) else { return [] }
    let texts: [DeclSyntax] = protocols.map { missing in
      switch missing.trimmedDescription.split(separator: ".").last {
      case "Sendable":
        """
        @available(*, unavailable, message: "a model belongs to its context: pass its persistentModelID on, and fetch it where it is needed, for instance in a ModelActor")
        extension \(type.trimmed): Sendable {
        }
        """
      case "Observable":
        """
        nonisolated extension \(type.trimmed): Observation.Observable {
        }
        """
      default:
        """
        nonisolated extension \(type.trimmed): SwiftData.PersistentModel {
        }
        """
      }
    }
    return texts.compactMap { $0.as(ExtensionDeclSyntax.self) }
  }
}
