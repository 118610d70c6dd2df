/// How far a declaration is seen.
enum Access: String {
  case `private`, `fileprivate`, `internal`, `package`, `public`, `open`

  /// Whether the compiler puts the file into the declaration's symbol.
  var isPrivate: Bool { self == .private || self == .fileprivate }

  /// The other one, if that is seen less far.
  func limited(by other: Access) -> Access { Self.order(other) < Self.order(self) ? other : self }

  private static func order(_ access: Access) -> Int {
    switch access {
    case .private: 0
    case .fileprivate: 1
    case .internal: 2
    case .package: 3
    case .public, .open: 4
    }
  }
}

/// A place in a file.
struct Place: Hashable {
  let file: String
  let line: Int
  let column: Int
}

/// What kind of type a declaration makes.
enum TypeKind: String {
  case `class`, `struct`, `enum`, `actor`, `protocol`

  /// The letter in symbols.
  var letter: Character {
    switch self {
    case .class, .actor: "C"
    case .struct: "V"
    case .enum: "O"
    case .protocol: "P"
    }
  }
}

/// The types and extensions around a declaration, outermost first.
struct Scope: Hashable {
  /// One of them.
  struct Part: Hashable {
    let name: [String]
    let isExtension: Bool
    /// Whether it has generic parameters of its own, or is an extension with conditions.
    let isGeneric: Bool
  }
  var parts: [Part] = []

  /// All names, those of extended types included.
  var path: [String] { parts.flatMap(\.name) }
}

/// A type's declaration.
struct TypeDeclaration {
  let name: String
  let kind: TypeKind
  let access: Access
  let scope: Scope
  let inherited: [TypeSyntax]
  let isGeneric: Bool
  /// Whether it belongs to a global actor.
  var isIsolated = false
  let conditions: [String]
  let place: Place
}

/// Another name for a type.
struct AliasDeclaration {
  let name: String
  /// Nil when it has parameters, or cannot be understood.
  let type: TypeSyntax?
  let scope: Scope
  let conditions: [String]
}

/// A property with `@NSManaged`.
struct ManagedProperty {
  let name: String
  /// Nil when the source says none, which the compiler reports.
  let type: TypeSyntax?
  let access: Access
  let setterAccess: Access
  /// What `@objc(…)` calls it, which is its name in the model.
  let objectiveCName: String?
  let scope: Scope
  let conditions: [String]
  let place: Place
}

/// A method with `@NSManaged`.
struct ManagedMethod {
  struct Parameter {
    /// Nil for `_`.
    let label: String?
    let type: TypeSyntax
  }
  let name: String
  let parameters: [Parameter]
  let result: TypeSyntax?
  let access: Access
  let scope: Scope
  let conditions: [String]
  let place: Place
}

/// What key-value coding may look for by name: a property that is no `@NSManaged` one, or a method with a name of its own meaning.
struct KeyedMember {
  enum Kind {
    /// A property that may be read from another file of the module.
    case property
    /// `validate<Key>(_:) throws` with a pointer.
    case validation
    /// `keyPathsForValuesAffecting<Key>() -> Set<String>` of the class.
    case affecting
  }
  let kind: Kind
  let name: String
  let scope: Scope
  let conditions: [String]
  let place: Place
}

/// A remark in the source about a type that cannot be found: `// NSManaged: Bank.Money is a struct`.
struct TypeHint {
  let module: String
  let path: [String]
  let kind: TypeKind
}

/// A remark in the source about a property that has another name in the model: `// NSManaged: Account._owner has the key owner`.
struct KeyHint {
  /// The class, with those around it or without.
  let owner: [String]
  let property: String
  let key: String
  let place: Place

  /// Whether it is about a property of that name that is declared there.
  func isAbout(_ name: String, in scope: Scope) -> Bool {
    name == property && scope.path.suffix(owner.count) == owner[...]
  }
}

/// `import Module`.
struct ImportDeclaration: Hashable {
  let module: String
  /// `public`, `internal` and so on; empty where nothing is said.
  let access: String
  let conditions: [String]
}

/// Something that could not be understood.
struct Problem: Error, Hashable {
  let place: Place
  let message: String
}

/// The declarations of one file, as far as they matter here.
struct SourceDeclarations {
  let file: String
  var types: [TypeDeclaration] = []
  var aliases: [AliasDeclaration] = []
  var properties: [ManagedProperty] = []
  var methods: [ManagedMethod] = []
  var keyed: [KeyedMember] = []
  var imports: [ImportDeclaration] = []
  var hints: [TypeHint] = []
  var keyHints: [KeyHint] = []
  var problems: [Problem] = []
  /// Of the names asked for, those that occur.
  var mentioned: Set<String> = []
}
