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
    let found = ModelClass(declaration, Conditions(context), isSubmodel: isSubmodel, &faults)
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
        \(raw: metadata(of: found))
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
    if !found.hasInitializer, found.hasInitialValues {
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
        \(raw: metadata(of: found))
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
    let paths = found.all.map { $0.map { "\\_Model.\($0.name)" } }
    let above = found.isSubmodel ? "super._$keyPaths(of: type)" : nil
    return """
      \(raw: found.access)static func _$keyPaths<_Model: \(raw: found.name)>(of type: _Model.Type) -> [AnyKeyPath] {
        \(raw: list(paths, of: "AnyKeyPath", behind: above, separator: ", "))
      }
      """
  }

  private static func markers(of found: ModelClass) -> String {
    found.all.map { $0.map { "  \($0.marker) = _SwiftDataNoType()" } }.flatMap(\.lines).map { $0 + "\n" }
      .joined()
  }

  /// A list of expressions; with statements for those of which some stand in `#if`, where an array literal cannot have any.
  private static func list(
    _ parts: [Conditional<String>], of type: String, behind above: String? = nil, separator: String
  ) -> String {
    let certain = parts.compactMap(\.certain)
    if certain.count == parts.count {
      let isBroken = separator.hasSuffix("\n    ")
      let list = certain.joined(separator: separator)
      let literal = isBroken ? "[\n    \(list)\n  ]" : "[\(list)]"
      guard let above else { return literal }
      return isBroken ? "\(above) + \(literal)" : "\(above) + (\(literal) as [\(type)])"
    }
    let statements = parts.map { $0.map { "_$list.append(\($0))" } }.flatMap(\.lines)
    // Changed at once: else the compiler warns where no branch changes it.
    return
      (["var _$list: [\(type)] = \(above ?? "[]")", "_$list.reserveCapacity(_$list.count + \(parts.count))"]
      + statements + ["return _$list"]).joined(separator: "\n  ")
  }

  // MARK: Metadata

  /// Those that there are in every build come first: their places are known. Keys come last.
  private static func metadata(of found: ModelClass) -> String {
    let properties = found.all.map { property in
      property.flatMap { property in property.marks.map { entry(property, $0, of: found.name) } }
    }
    let keys = found.keys.map { key in
      key.map { key in
        entry(
          "SwiftData.Schema.\(key.kind)", "\\SwiftData.Schema.version", nil,
          "SwiftData.Schema.\(key.kind)\(key.type)(\(key.arguments))")
      }
    }
    let above =
      found.isSubmodel
      ? "SwiftData._inherited(super.schemaMetadata, at: super._$keyPaths(of: \(found.name).self))" : nil
    return list(
      properties + keys, of: "SwiftData.Schema.PropertyMetadata", behind: above, separator: ",\n    ")
  }

  private static func entry(_ property: PersistedProperty, _ marks: PropertyMarks, of owner: String) -> String
  {
    let keyPath = "\\\(owner).\(property.name)"
    let attribute = described(marks.attribute, as: "Attribute").map { text in
      // Of a relationship it says nothing, which is seen by the compiler alone.
      marks.attribute?.argumentList == nil || marks.isTransformable
        ? text : "SwiftData._attribute(\(keyPath), \(text))"
    }
    return entry(
      property.key, keyPath, marks.relationship == nil ? property.defaultValue : nil,
      described(marks.relationship, as: "Relationship") ?? attribute)
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
    attribute.map { attribute in
      let arguments = attribute.argumentList.map { list in
        LabeledExprListSyntax(list.map { $0.label?.text == "inverse" ? withoutMark($0) : $0 })
      }
      return "SwiftData.Schema.\(type)(\(arguments?.trimmedDescription ?? ""))"
    }
  }

  /// `\Stay.trip?` leads to the same as `\Stay.trip`, and is another key path than that of the property.
  private static func withoutMark(_ argument: LabeledExprSyntax) -> LabeledExprSyntax {
    guard var path = argument.expression.as(KeyPathExprSyntax.self) else { return argument }
    while path.components.count > 1, let last = path.components.last,
      last.component.is(KeyPathOptionalComponentSyntax.self)
    {
      path.components.remove(at: path.components.index(before: path.components.endIndex))
    }
    return argument.with(\.expression, ExprSyntax(path))
  }
}

extension PersistentModelMacro: MemberAttributeMacro {
  static func expansion(
    of node: AttributeSyntax, attachedTo declaration: some DeclGroupSyntax,
    providingAttributesFor member: some DeclSyntaxProtocol, in context: some MacroExpansionContext
  ) throws -> [AttributeSyntax] {
    guard let model = declaration.as(ClassDeclSyntax.self), let variable = member.as(VariableDeclSyntax.self)
    else { return [] }
    let conditions = Conditions(context)
    let certain = conditions.members(model.memberBlock.members).compactMap {
      $0.certain?.as(VariableDeclSyntax.self)
    }
    let (read, faults) = PropertyReader.read(variable, conditions)
    // Of all others ModelClass tells.
    if !certain.contains(where: { $0.bindings.trimmedDescription == variable.bindings.trimmedDescription }) {
      for fault in faults { fault.report(in: context) }
    }
    guard case .persisted(let property) = read else { return [] }
    if property.isTransformable { return ["@_TransformablePersistedProperty"] }
    // Its place in the metadata.
    let names = certain.compactMap { PropertyReader.persisted($0, conditions)?.name }
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
