import Foundation
import Synchronization

/// The declared keys of one class, those of its superclasses included. Immutable.
final class ClassKeys: Sendable {
  private let properties: [String: DeclaredProperty]
  let validators: [ValueValidator]
  private let affecting: [String: Set<String>]

  private init(_ type: ManagedObject.Type, _ modules: [DeclaredKeys]) {
    var properties: [String: DeclaredProperty] = [:]
    var validators: [ValueValidator] = []
    var affecting: [String: Set<String>] = [:]
    // The nearest class wins; superclasses check first.
    for one in Self.chain(of: type).reversed() {
      let identifier = ObjectIdentifier(one)
      for keys in modules {
        properties.merge(keys.properties[identifier] ?? [:]) { $1 }
        validators += keys.validators[identifier] ?? []
        affecting.merge(keys.affecting[identifier] ?? [:]) { $1 }
      }
    }
    self.properties = properties
    self.validators = validators
    self.affecting = affecting
  }

  private var isEmpty: Bool { properties.isEmpty && validators.isEmpty && affecting.isEmpty }

  subscript(_ key: String) -> DeclaredProperty? { properties[key] }

  /// The key paths that a key's value is made of, as the class says.
  func paths(affecting key: String) -> Set<String> { affecting[key] ?? [] }

  // MARK: Finding them

  private struct Known {
    /// By module; nil where a module has no table.
    var modules: [String: DeclaredKeys?] = [:]
    var classes: [ObjectIdentifier: ClassKeys?] = [:]
  }

  // Safe: values that do not change any more, behind the lock.
  private static let known = Mutex<Known>(Known())

  /// What `type` declares; nil for a class whose module has no table, or nothing of it. Looked for once.
  static func of(_ type: ManagedObject.Type) -> ClassKeys? {
    let identifier = ObjectIdentifier(type)
    if let known = known.withLock({ $0.classes[identifier] }) { return known }
    // Outside of the lock: a table may be of any size.
    let modules = chain(of: type).reduce(into: [String]()) { names, one in
      let name = module(of: one)
      if !names.contains(name) { names.append(name) }
    }
    let found = ClassKeys(type, modules.compactMap(table))
    let keys = found.isEmpty ? nil : found
    known.withLock { $0.classes[identifier] = .some(keys) }
    return keys
  }

  /// The class and its superclasses up to `ManagedObject`, nearest first.
  private static func chain(of type: ManagedObject.Type) -> [ManagedObject.Type] {
    var chain: [ManagedObject.Type] = []
    var next: AnyClass? = type
    while let one = next as? ManagedObject.Type {
      chain.append(one)
      next = _getSuperclass(one)
    }
    return chain
  }

  private static func module(of type: ManagedObject.Type) -> String {
    String(String(reflecting: type).prefix { $0 != "." })
  }

  private static func table(_ module: String) -> DeclaredKeys? {
    if let known = known.withLock({ $0.modules[module] }) { return known }
    var keys: DeclaredKeys?
    if let table = NSClassFromString("\(module).NSManagedKeys") as? DeclaredKeyTable.Type {
      var found = DeclaredKeys()
      table.declare(in: &found)
      keys = found
    }
    known.withLock { $0.modules[module] = .some(keys) }
    return keys
  }
}

/// The getters and setters that are running because a key was asked for: what they ask for by the same key is the entity's property.
enum RunningKeys {
  private struct Key: Hashable {
    let object: ObjectIdentifier
    let name: String
  }

  private static let running = Mutex<Set<Key>>([])

  /// Runs `body` unless it is running already for this key of the object; nil then.
  static func run<Result>(_ object: ManagedObject, _ name: String, _ body: () -> Result) -> Result? {
    let key = Key(object: ObjectIdentifier(object), name: name)
    guard running.withLock({ $0.insert(key).inserted }) else { return nil }
    defer { _ = running.withLock { $0.remove(key) } }
    return body()
  }
}

extension ManagedObject {
  /// What the object's class declares in Swift.
  final var declaredKeys: ClassKeys? {
    guard let context else { return ClassKeys.of(type(of: self)) }
    return context.declaredKeys(of: type(of: self))
  }

  /// Whether a key stands for a property that the class declares, rather than for one of the entity: custom accessors stand before attributes.
  private final func declaredProperty(_ key: String) -> DeclaredProperty? {
    guard let property = declaredKeys?[key] else { return nil }
    return property.isRepresentable || home.entity.slot(named: key) == nil ? property : nil
  }

  /// The value of a property that the class declares; nil where there is none, or its getter is what asks.
  final func declaredValue(_ key: String) -> Any?? {
    guard let property = declaredProperty(key) else { return nil }
    return RunningKeys.run(self, key) { () -> Any? in
      let value = property.read(self)
      return speaksFoundation ? FoundationNumbers.handedOut(optional: value) : value
    }
  }

  /// Whether `value(forKey:)` hands out what the class declares in Swift: a key that is no property of the entity, or a custom accessor.
  package static func declaresKey(_ key: String, isModeled: Bool) -> Bool {
    guard let property = ClassKeys.of(self)?[key] else { return false }
    return !isModeled || property.isRepresentable
  }

  /// Sets a property that the class declares. False where there is none that could be set, or its setter is what asks.
  final func setDeclaredValue(_ value: Any?, _ key: String) -> Bool {
    guard let property = declaredProperty(key) else { return false }
    guard let write = property.write else {
      if home.entity.slot(named: key) != nil { return false }
      trap("\(type(of: self)).\(key) cannot be set: the class declares it for reading only.")
    }
    return RunningKeys.run(self, key) { () -> Bool in
      if write(self, value) { return true }
      if value == nil, home.entity.slot(named: key) != nil {
        // A number without nil: the class says what nil makes of it.
        setNilValueForKey(key)
        return true
      }
      trap(
        "\(type(of: self)).\(key) is of type \(property.valueType) and cannot be set to "
          + "\(value.map { "a \(type(of: $0))" } ?? "nil").")
    } ?? false
  }
}
