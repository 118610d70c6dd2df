import StrataCore

/// A store of a container: where it is, which models it has, whether it may be written.
public struct ModelConfiguration: Identifiable, Hashable, Sendable, DataStoreConfiguration {
  /// The store, for a program that asks it itself. A container's own is the same beneath.
  public typealias Store = DefaultStore

  /// Which database of iCloud mirrors the store. There is no iCloud here: kept, and without effect.
  public struct CloudKitDatabase: Sendable, Hashable {
    enum Choice: Hashable, Sendable {
      case automatic, none
      case named(String)
    }
    let choice: Choice
    /// That of the program's entitlements.
    public static let automatic = CloudKitDatabase(choice: .automatic)
    /// None.
    public static let none = CloudKitDatabase(choice: .none)
    /// A private one.
    public static func `private`(_ privateDBName: String) -> CloudKitDatabase {
      CloudKitDatabase(choice: .named(privateDBName))
    }
  }

  /// Which folder programs share. A group is a folder of its name beside the program's own.
  public struct GroupContainer: Sendable, Hashable {
    enum Choice: Hashable, Sendable {
      case automatic, none
      case named(String)
    }
    let choice: Choice
    /// The program's own folder.
    public static let automatic = GroupContainer(choice: .automatic)
    /// The program's own folder.
    public static let none = GroupContainer(choice: .none)
    /// The folder of a group.
    public static func identifier(_ groupName: String) -> GroupContainer {
      GroupContainer(choice: .named(groupName))
    }
  }

  /// The file of the store; `/dev/null` for one in memory.
  public let url: URL
  /// The name: `default` when none is given. No two names that were given are the same in a container.
  public let name: String
  /// Whether the store is in memory only. Two containers never share one.
  public let isStoredInMemoryOnly: Bool
  /// Whether the store may be written. Without, every save of a change throws.
  public let allowsSave: Bool
  /// See ``GroupContainer``.
  public let groupContainer: GroupContainer
  /// See ``CloudKitDatabase``.
  public let cloudKitDatabase: CloudKitDatabase
  /// The models that the store holds, where a container has several stores; nil for those that no other configuration names.
  public var schema: Schema?
  /// Whether the name was given: those that were not may be those of several configurations. Two that differ in this only are equal.
  let isNamed: Bool

  /// The file.
  public var id: URL { url }
  /// The name of the group.
  public var groupAppContainerIdentifier: String? {
    if case .named(let name) = groupContainer.choice { name } else { nil }
  }
  /// The name of the database.
  public var cloudKitContainerIdentifier: String? {
    if case .named(let name) = cloudKitDatabase.choice { name } else { nil }
  }

  /// The program's default store, or one in memory.
  public init(isStoredInMemoryOnly: Bool = false) {
    self.init(nil, schema: nil, isStoredInMemoryOnly: isStoredInMemoryOnly)
  }

  /// The default store of these models, or one in memory.
  public init(for forTypes: any PersistentModel.Type..., isStoredInMemoryOnly: Bool = false) {
    self.init(
      nil, schema: forTypes.isEmpty ? nil : Schema(forTypes), isStoredInMemoryOnly: isStoredInMemoryOnly)
  }

  /// The store `name.store` in the program's folder for data, or in that of a group; or one in memory.
  ///
  /// The folder is `$XDG_DATA_HOME/<program>`, by default `~/.local/share/<program>`.
  public init(
    _ name: String? = nil, schema: Schema? = nil, isStoredInMemoryOnly: Bool = false, allowsSave: Bool = true,
    groupContainer: GroupContainer = .automatic, cloudKitDatabase: CloudKitDatabase = .automatic
  ) {
    self.name = name ?? "default"
    isNamed = name != nil
    self.schema = schema
    self.isStoredInMemoryOnly = isStoredInMemoryOnly
    self.allowsSave = allowsSave
    self.groupContainer = groupContainer
    self.cloudKitDatabase = cloudKitDatabase
    if isStoredInMemoryOnly {
      url = URL(fileURLWithPath: "/dev/null")
      return
    }
    var folder = PersistentContainer.defaultDirectoryURL()
    if case .named(let group) = groupContainer.choice {
      folder = folder.deletingLastPathComponent().appendingPathComponent(group)
    }
    url = folder.appendingPathComponent("\(self.name).store")
  }

  /// The store in the file at `url`.
  public init(
    _ name: String? = nil, schema: Schema? = nil, url: URL, allowsSave: Bool = true,
    cloudKitDatabase: CloudKitDatabase = .automatic
  ) {
    self.name = name ?? "default"
    isNamed = name != nil
    self.schema = schema
    self.url = url
    isStoredInMemoryOnly = url.path == "/dev/null"
    self.allowsSave = allowsSave
    groupContainer = .none
    self.cloudKitDatabase = cloudKitDatabase
  }

  /// That the name can be one of a file.
  /// - Throws: ``SwiftDataError/configurationFileNameTooLong``, ``SwiftDataError/configurationFileNameContainsInvalidCharacters``.
  public func validate() throws {
    if isStoredInMemoryOnly { return }
    let file = url.lastPathComponent
    // The lock file beside the store has five bytes more, and the name of a file at most 255.
    if file.utf8.count > 250 {
      throw SwiftDataError(
        .configurationFileNameTooLong,
        "“\(file)” has \(file.utf8.count) bytes, and the name of a store's file at most 250")
    }
    if name.contains("/") || name.contains("\0") || file.contains("\0") {
      throw SwiftDataError(
        .configurationFileNameContainsInvalidCharacters,
        "“\(name)” holds a character that no name of a file has")
    }
  }
}

extension ModelConfiguration {
  public static func == (a: ModelConfiguration, b: ModelConfiguration) -> Bool {
    a.url == b.url && a.name == b.name && a.isStoredInMemoryOnly == b.isStoredInMemoryOnly
      && a.allowsSave == b.allowsSave && a.groupContainer == b.groupContainer
      && a.cloudKitDatabase == b.cloudKitDatabase && a.schema == b.schema
  }

  public func hash(into hasher: inout Hasher) {
    hasher.combine(url)
    hasher.combine(name)
    hasher.combine(isStoredInMemoryOnly)
    hasher.combine(allowsSave)
    hasher.combine(groupContainer)
    hasher.combine(cloudKitDatabase)
    hasher.combine(schema)
  }
}

extension ModelConfiguration: CustomDebugStringConvertible {
  public var debugDescription: String {
    "ModelConfiguration \(name): \(isStoredInMemoryOnly ? "in memory" : url.path)\(allowsSave ? "" : ", read only")"
  }
}
