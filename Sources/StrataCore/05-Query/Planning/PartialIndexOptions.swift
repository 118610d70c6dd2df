// Indexes of declarations that hold only some rows: see `FetchIndexDescription.partialIndexPredicate` for what their predicates may be.

extension AttributeOption {
  /// An index of this attribute alone that holds the rows which satisfy a condition: `.indexed(where: Attribute("published") != nil)`.
  ///
  /// - Parameters:
  ///   - condition: Compares the entity's own stored attributes with constants. Others are refused with ``ModelError`` when the model is taken into use.
  ///   - isAscending: The direction in which the index sorts.
  ///   - name: The index's name; by default made of the attribute's. A second index of the attribute needs one.
  public static func indexed(where condition: FetchPredicate, isAscending: Bool = true, name: String? = nil)
    -> AttributeOption
  {
    AttributeOption(
      kind: .indexed(
        IndexDeclaration(name: name, isAscending: isAscending, condition: IndexCondition(condition))))
  }
}

extension EntityOption {
  /// An index over these attributes, in this order, that holds the rows which satisfy a condition:
  /// `.index("author", .descending("published"), where: Attribute("published") != nil)`.
  ///
  /// - Parameters:
  ///   - elements: The attributes. Where one says no direction it has that of the index.
  ///   - condition: Compares the entity's own stored attributes with constants. Others are refused with ``ModelError`` when the model is taken into use.
  ///   - name: The index's name; by default made of the attributes'.
  ///   - isAscending: The direction in which the index sorts.
  public static func index(
    _ elements: IndexElement..., where condition: FetchPredicate, name: String? = nil,
    isAscending: Bool = true
  ) -> EntityOption {
    EntityOption(
      kind: .index(
        elements,
        IndexDeclaration(name: name, isAscending: isAscending, condition: IndexCondition(condition))))
  }
}
