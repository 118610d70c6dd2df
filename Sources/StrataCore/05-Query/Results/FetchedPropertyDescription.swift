import Foundation

/// A property whose value is what a fetch request finds: a weak, one-way relationship. Core Data's
/// `NSFetchedPropertyDescription` (rule 111).
///
///     let request = FetchRequest<ManagedObjectID>(
///       entityName: "Flight",
///       predicate: .compare(
///         FetchComparison(.key("originCode"), .equal, .keyPath(base: .variable("FETCH_SOURCE"), keys: ["code"]))))
///     airport.properties.append(FetchedPropertyDescription("departures", fetchRequest: request))
///     …
///     let departures = try airport.fetchedObjects(forKey: "departures")
///
/// The request is executed when the value is first read, by the context of the object, with its unsaved changes; what it has
/// found is kept, in its order, until the object becomes a fault again or is refreshed. It does not follow changes. It may find
/// objects in other stores than the object's. In the predicate, the sort keys being names only, two variables are bound:
///
/// | variable | stands for |
/// |---|---|
/// | `$FETCH_SOURCE` | the object; `$FETCH_SOURCE.name` one of its values, `$FETCH_SOURCE.boss.name` one of an object it leads to |
/// | `$FETCHED_PROPERTY` | the property: `$FETCHED_PROPERTY.name`, `$FETCHED_PROPERTY.userInfo.key`; alone, its name |
///
/// A fetched property has no values of its own, so no predicate and no sort descriptor can name it, it is not stored, it is no
/// part of version hashes, and the copy of the model that a store keeps is without it: it may be added to a model, changed and
/// removed at any time. Copies made by `ManagedObjectModel.copy()` have it.
///
/// Mutable until the model is taken into use (rule 298).
public final class FetchedPropertyDescription: PropertyDescription, @unchecked Sendable {
  // @unchecked Sendable: see PropertyDescription.

  /// What is fetched. Of which type the request's results are does not matter: the value is made of objects.
  @_disfavoredOverload  // Core Data's spelling, in a module of its own, comes first where both are seen.
  public var fetchRequest: FetchRequest<ManagedObjectID>? { willSet { requireMutable("fetchRequest") } }

  /// The variable that stands for the object.
  public static let sourceVariable = "FETCH_SOURCE"
  /// The variable that stands for the property.
  public static let propertyVariable = "FETCHED_PROPERTY"

  /// A fetched property without a name yet.
  public init() { super.init(name: "") }

  /// A fetched property, in one line.
  public init(_ name: String, fetchRequest: FetchRequest<ManagedObjectID>) {
    super.init(name: name)
    setFetchRequest(fetchRequest)
  }

  // Property observers do not run for assignments in an initialiser's own body.
  private func setFetchRequest(_ request: FetchRequest<ManagedObjectID>) { fetchRequest = request }

  override var isComputed: Bool { true }

  override func sentences(_ place: String, in model: ManagedObjectModel) -> [String] {
    guard let fetchRequest else { return ["Fetched property \(place) has no fetch request."] }
    var sentences: [String] = []
    if model.entitiesByName[fetchRequest.entityName] == nil {
      sentences.append(
        "Fetched property \(place) fetches entity \(fetchRequest.entityName), which is not in the model.")
    }
    if !fetchRequest.propertiesToGroupBy.isEmpty || fetchRequest.havingPredicate != nil {
      sentences.append("Fetched property \(place) groups, but its value is made of objects.")
    }
    if !validationRules.isEmpty {
      sentences.append("Fetched property \(place) has rules, but no values that could meet them.")
    }
    return sentences
  }

  override func copyOfComputed() -> PropertyDescription? {
    let copy = FetchedPropertyDescription()
    copy.name = name
    copy.isOptional = isOptional
    copy.isTransient = isTransient
    copy.userInfo = userInfo
    copy.explicitRenamingIdentifier = explicitRenamingIdentifier
    copy.versionHashModifier = versionHashModifier
    copy.fetchRequest = fetchRequest
    return copy
  }
}
